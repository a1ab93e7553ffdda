//! Paths: from where one stands to places in the tree.

use super::glob::Component;
use super::image::Image;
use super::node::Node;
use crate::printable::printable;

/// A place that was found: the names that lead there, and what is there.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) path: Vec<String>,
    pub(super) node: Node<'a>,
}

impl Place<'_> {
    /// The last of the names.
    pub(super) fn name(&self) -> &str {
        self.path.last().map_or("/", String::as_str)
    }
}

/// A path as it is shown.
pub(super) fn shown(path: &[String]) -> String {
    format!("/{}", printable(&path.join("/")))
}

/// Gives every place to `each` that a path with wildcards leads to, in the order of their names; returns whether there was
/// one. `from` is where one stands, which is a path of names as they are.
pub(super) fn visit<'a, E>(
    image: &'a Image,
    from: &[String],
    path: &str,
    each: &mut dyn FnMut(Place<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    let components = components(from, path);
    let start = Place {
        path: Vec::new(),
        node: Node::root(image),
    };
    descend(start, &components, each)
}

/// The components of a path from the root on.
fn components(from: &[String], path: &str) -> Vec<Component> {
    let mut components = Vec::new();
    if !path.starts_with('/') {
        components.extend(from.iter().map(|name| Component::Name {
            raw: name.clone(),
            plain: name.clone(),
        }));
    }
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(components.pop()),
            other => components.push(Component::parse(other)),
        }
    }
    components
}

fn descend<'a, E>(
    place: Place<'a>,
    components: &[Component],
    each: &mut dyn FnMut(Place<'a>) -> Result<(), E>,
) -> Result<bool, E> {
    let Some((component, rest)) = components.split_first() else {
        return each(place).map(|()| true);
    };
    match component {
        Component::Name { raw, plain } => {
            let named = |name: &String| Some((name.clone(), place.node.child(name)?));
            match named(raw).or_else(|| named(plain)) {
                Some((name, node)) => descend(below(&place, name, node), rest, each),
                None => Ok(false),
            }
        }
        Component::Glob(glob) => {
            let mut any = false;
            for name in place.node.names() {
                if glob.matches(&name)
                    && let Some(node) = place.node.child(&name)
                {
                    any |= descend(below(&place, name.into_owned(), node), rest, each)?;
                }
            }
            Ok(any)
        }
    }
}

fn below<'a>(place: &Place<'a>, name: String, node: Node<'a>) -> Place<'a> {
    let mut path = place.path.clone();
    path.push(name);
    Place { path, node }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn found(from: &[&str], path: &str) -> Vec<String> {
        let image = Image::empty();
        let from: Vec<_> = from.iter().map(|name| (*name).to_owned()).collect();
        let mut found = Vec::new();
        let any = visit(&image, &from, path, &mut |place| {
            found.push(shown(&place.path));
            Ok::<(), Infallible>(())
        });
        assert_eq!(any, Ok(!found.is_empty()));
        found
    }

    #[test]
    fn paths_lead_from_where_one_stands() {
        let rows: [(&[&str], &str, &[&str]); 12] = [
            (&[], "", &["/"]),
            (&[], "/", &["/"]),
            (&["image"], "", &["/image"]),
            (&["image"], ".", &["/image"]),
            (&["image"], "..", &["/"]),
            (&["image"], "../../../local", &["/local"]),
            (&["image", "topics"], "byId", &["/image/topics/byId"]),
            (
                &["image", "topics"],
                "../cluster//brokers/",
                &["/image/cluster/brokers"],
            ),
            (&["image", "topics"], "/local/./version", &["/local/version"]),
            (&["image"], "nope", &[]),
            (&["image"], "provenance/below", &[]),
            (&["image"], "nope/../topics", &["/image/topics"]),
        ];
        for (from, path, expected) in rows {
            assert_eq!(found(from, path), expected, "{path} from {from:?}");
        }
    }

    #[test]
    fn wildcards_lead_to_all_that_match_in_order() {
        assert_eq!(found(&[], "*"), ["/image", "/local"]);
        assert_eq!(
            found(&[], "/*/{v,c}*"),
            [
                "/image/clientQuotas",
                "/image/cluster",
                "/image/configs",
                "/local/commitId",
                "/local/version",
            ]
        );
        assert_eq!(
            found(&["image"], "to*/by*"),
            ["/image/topics/byId", "/image/topics/byName"]
        );
        assert_eq!(found(&["image"], "*/*/*/*"), Vec::<String>::new());
    }
}
