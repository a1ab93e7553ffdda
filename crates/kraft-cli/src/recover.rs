//! `kraft recover`: the ways out of damage that a start refuses.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kraft_fs::{FileSystem, RealFs};
use kraft_log::recover::{RecoverForm, RecoverInputs, RecoverPlan, plan_recovery};
use kraft_log::{METADATA_PARTITION_DIR, MetaProperties, Refusal, Verified, meta_properties, verify};
use serde_json::{Value, json};

use crate::out::Out;
use crate::progress::Watched;
use crate::verify::print_verified;
use crate::{Outcome, clock, random};

/// Get a damaged metadata directory to start again: shows the plan, then carries it out
#[derive(clap::Args)]
#[command(
    group(clap::ArgGroup::new("form").required(true)),
    after_help = "No node may be running on the directory. What a form replaces is kept in files whose names end in .kept-1, \
    .kept-2 and so on. kraft verify says which form fits.\n\n\
    Examples:\n  \
    kraft recover /var/lib/kafka --cut --dry-run\n  \
    kraft recover /var/lib/kafka --refetch"
)]
pub(crate) struct Arguments {
    /// End the log behind its last good batch: what follows is garbage, or nobody else counts on it
    #[arg(long, group = "form")]
    cut: bool,
    /// Move the log aside and fetch it again from the other voters
    #[arg(long, group = "form")]
    refetch: bool,
    /// Replace a lost quorum-state
    #[arg(long, group = "form")]
    new_identity: bool,
    /// Go on with this node as the only voter: the majority of the voters is gone for good
    #[arg(long, group = "form")]
    sole_voter: bool,
    /// Show the plan and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The metadata directory, the one with meta.properties
    dir: PathBuf,
}

impl Arguments {
    fn form(&self) -> RecoverForm {
        if self.cut {
            RecoverForm::Cut
        } else if self.refetch {
            RecoverForm::Refetch
        } else if self.new_identity {
            RecoverForm::NewIdentity
        } else {
            RecoverForm::SoleVoter
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let dir = &arguments.dir;
    // The lock is a file: it is not put into a directory that is no node's.
    let file = dir.join(meta_properties::FILE_NAME);
    let found = RealFs
        .metadata(&file)
        .map_err(|error| format!("{}: {error}; check the path and its permissions", file.display()))?;
    found.ok_or_else(|| {
        format!(
            "{}: there is no such file, so this is not a metadata directory; name the one that has it",
            file.display()
        )
    })?;
    let _lock = RealFs.lock_dir(dir)?;
    let fs = Watched::new(RealFs);
    let inputs = RecoverInputs {
        new_directory_id: new_directory_id(dir)?,
        now_ms: clock::now_ms(),
    };
    let plan = plan_recovery(&fs, dir, arguments.form(), &inputs)?;
    let mut out = Out::report();
    if !arguments.json {
        print_plan(&mut out, &plan)?;
    }
    if arguments.dry_run {
        if arguments.json {
            writeln!(out, "{}", plan_json(&plan, false))?;
        } else {
            writeln!(out, "nothing was changed")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Whoever looks on sees what is being done before it is.
    out.flush()?;
    plan.carry_out(&fs)?;
    let found = verify(&fs, &dir.join(METADATA_PARTITION_DIR));
    drop(fs);
    let told = print_done(&mut out, arguments.json, &plan, &found);
    found.map_err(|refusal| format!("the plan is carried out, but there is more: {refusal}"))?;
    told.map_err(|error| format!("the plan is carried out, but {error}"))?;
    Ok(ExitCode::SUCCESS)
}

fn print_done(
    out: &mut impl Write,
    json: bool,
    plan: &RecoverPlan,
    found: &Result<Verified, Refusal>,
) -> io::Result<()> {
    if json {
        return writeln!(out, "{}", plan_json(plan, true));
    }
    writeln!(out, "done")?;
    match found {
        Ok(verified) => print_verified(out, verified),
        Err(_) => Ok(()),
    }
}

/// None of the directory's own.
fn new_directory_id(dir: &Path) -> io::Result<uuid::Uuid> {
    let properties = MetaProperties::load(&RealFs, dir).ok().flatten();
    let own = properties.and_then(|properties| properties.directory_id);
    loop {
        let id = random::uuid()?;
        if Some(id) != own {
            return Ok(id);
        }
    }
}

fn print_plan(out: &mut impl Write, plan: &RecoverPlan) -> io::Result<()> {
    for (n, step) in plan.steps().iter().enumerate() {
        writeln!(out, "{}. {step}", n + 1)?;
    }
    if let Some(loss) = &plan.loss {
        writeln!(out, "this node gives up, at most: {loss}")?;
    }
    for note in &plan.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

fn plan_json(plan: &RecoverPlan, done: bool) -> Value {
    json!({
        "done": done,
        "steps": plan.steps().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "lostFrom": plan.loss.map(|loss| loss.from),
        "lostKnownEnd": plan.loss.and_then(|loss| loss.known_end),
        "notes": plan.notes,
    })
}
