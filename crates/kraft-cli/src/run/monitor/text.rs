//! The text format of Prometheus.

use std::fmt::Write as _;

use kraft_transport::metrics::{Metric, MetricKind};

/// The metrics, each name with what it says before its first number.
pub(super) fn render(metrics: &[Metric]) -> String {
    let mut text = String::new();
    let mut name = "";
    for metric in metrics {
        if metric.name != name {
            name = metric.name;
            let kind = match metric.kind {
                MetricKind::Gauge => "gauge",
                MetricKind::Counter => "counter",
            };
            line(
                &mut text,
                format_args!("# HELP {name} {}\n# TYPE {name} {kind}", metric.help),
            );
        }
        let labels: Vec<_> = metric
            .labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        // `Display` writes NaN as the format wants it; no metric is infinite.
        line(&mut text, format_args!("{name}{labels} {}", metric.value));
    }
    text
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(name: &'static str, labels: Vec<(&'static str, String)>, value: f64) -> Metric {
        Metric {
            name,
            help: "What it says.",
            kind: MetricKind::Gauge,
            labels,
            value,
        }
    }

    #[test]
    fn the_format_is_that_of_prometheus() {
        let metrics = [
            metric("one", vec![], 1_700_000_000_123.0),
            metric("many", vec![("of", "a \"b\" \\ c\n".to_owned())], 0.25),
            metric(
                "many",
                vec![("of", "x".to_owned()), ("and", "y".to_owned())],
                f64::NAN,
            ),
        ];
        assert_eq!(
            render(&metrics),
            "# HELP one What it says.\n# TYPE one gauge\none 1700000000123\n\
             # HELP many What it says.\n# TYPE many gauge\nmany{of=\"a \\\"b\\\" \\\\ c\\n\"} 0.25\n\
             many{of=\"x\",and=\"y\"} NaN\n"
        );
    }
}
