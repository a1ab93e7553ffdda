//! Apache Kafka's jars by Maven, and JVM runs of its programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::interop::Failure;
use crate::interop::process;
use crate::workspace;

/// A Kafka program that is run to its end.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    Storage,
    Quorum,
    Features,
    Dump,
}

impl Tool {
    fn main(self) -> &'static str {
        match self {
            Tool::Storage => "kafka.tools.StorageTool",
            Tool::Quorum => "org.apache.kafka.tools.MetadataQuorumCommand",
            Tool::Features => "org.apache.kafka.tools.FeatureCommand",
            Tool::Dump => "org.apache.kafka.tools.DumpLogSegments",
        }
    }

    fn archive(self) -> &'static str {
        match self {
            Tool::Storage => "storage.jsa",
            Tool::Quorum => "quorum.jsa",
            Tool::Features => "features.jsa",
            Tool::Dump => "dump.jsa",
        }
    }
}

/// What a program that ended printed.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The class path of Apache Kafka 4.4.0 and the class-data archives that make its programs start faster.
pub(crate) struct Jars {
    class_path: String,
    folder: PathBuf,
}

impl Jars {
    /// Resolves the jars; without a registry and without what an earlier run left there is no interop.
    pub(crate) fn fetch() -> Result<Jars, Failure> {
        let folder = workspace::target().join("kafka");
        fs::create_dir_all(&folder)?;
        // Archives that an interrupted run was still writing.
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "part") {
                fs::remove_file(path)?;
            }
        }
        let written = folder.join("classpath.txt");
        let pom = workspace::root().join("xtask").join("kafka").join("pom.xml");
        let output = Command::new("mvn")
            .args(["--quiet", "--batch-mode", "--file"])
            .arg(&pom)
            .arg("dependency:build-classpath")
            .arg(format!("-Dmdep.outputFile={}", written.display()))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("CANNOT FETCH KAFKA: mvn does not run: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            return Err(format!(
                "CANNOT FETCH KAFKA: Maven could not resolve {}:\n{said}",
                pom.display()
            )
            .into());
        }
        Ok(Jars {
            class_path: fs::read_to_string(&written)?.trim().to_owned(),
            folder,
        })
    }

    /// All jars, as `java -cp` takes them.
    pub(crate) fn class_path(&self) -> &str {
        &self.class_path
    }

    /// Runs one of Kafka's tools to its end.
    pub(crate) fn tool(&self, tool: Tool, arguments: &[&str]) -> Result<Finished, Failure> {
        let mut command = self.java(tool.archive(), "128m", true);
        // Only the tool's own words, not those of the client below it.
        command
            .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
            .arg(tool.main())
            .args(arguments);
        let finished = process::finish(command, Duration::from_secs(240))?;
        self.settle(tool.archive())?;
        Ok(finished)
    }

    /// Prints the tree of Kafka's metadata shell for each file. Java compiles the program that does it when it starts.
    pub(crate) fn trees(&self, files: &[String]) -> Result<Finished, Failure> {
        let mut command = self.java("tree.jsa", "128m", false);
        command.arg("-Dfile.encoding=UTF-8");
        command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=off");
        command.arg(workspace::root().join("xtask").join("kafka").join("Tree.java"));
        command.args(files);
        process::finish(command, Duration::from_secs(60))
    }

    /// A controller process that is not started yet. Only a process that is alone may write the class-data archive.
    pub(crate) fn controller(&self, config: &Path, alone: bool) -> Command {
        let mut command = self.java(CONTROLLER_ARCHIVE, "256m", alone);
        command.args(["-Xms128m", "-XX:+UseSerialGC"]);
        command.args(LOGGING).arg("kafka.Kafka").arg(config);
        command
    }

    /// To be called when a controller that was alone has ended: what it wrote is whole now.
    pub(crate) fn controller_ended(&self) -> Result<(), Failure> {
        self.settle(CONTROLLER_ARCHIVE)
    }

    /// `java` up to the class path. It starts from the archive if there is one, and otherwise writes one when it ends.
    fn java(&self, archive: &str, heap: &str, may_write: bool) -> Command {
        let mut command = Command::new("java");
        command.arg(format!("-Xmx{heap}"));
        command.args([
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-Xlog:disable",
            "-Xlog:all=off",
        ]);
        let whole = self.folder.join(archive);
        if whole.exists() {
            command.arg(format!("-XX:SharedArchiveFile={}", whole.display()));
        } else if may_write {
            command.arg(format!(
                "-XX:ArchiveClassesAtExit={}",
                self.unfinished(archive).display()
            ));
        }
        command.args(["-cp", &self.class_path]);
        command
    }

    /// Takes an archive into use. One that was being written when its process was killed is never looked at.
    fn settle(&self, archive: &str) -> Result<(), Failure> {
        let unfinished = self.unfinished(archive);
        if unfinished.exists() {
            fs::rename(unfinished, self.folder.join(archive))?;
        }
        Ok(())
    }

    fn unfinished(&self, archive: &str) -> PathBuf {
        self.folder.join(format!("{archive}.part"))
    }
}

const CONTROLLER_ARCHIVE: &str = "controller.jsa";

const LOGGING: [&str; 4] = [
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
];
