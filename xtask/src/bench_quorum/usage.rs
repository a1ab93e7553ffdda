//! Processor time and memory of a process, as the kernel counts them.

use std::fs;
use std::time::Duration;

use crate::interop::Failure;

#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) processor: Duration,
    /// Resident now.
    pub(super) resident_bytes: u64,
}

impl Usage {
    pub(super) fn of(process: u32) -> Result<Usage, Failure> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let (_, behind_name) = stat.rsplit_once(')').ok_or("stat has no name")?;
        let mut fields = behind_name.split_whitespace().skip(11);
        let mut ticks = || -> Result<u64, Failure> { Ok(fields.next().ok_or("stat is short")?.parse()?) };
        let ticks = ticks()? + ticks()?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|rest| rest.split_whitespace().next());
        let kibibytes: u64 = resident.ok_or("status has no VmRSS")?.parse()?;
        Ok(Usage {
            processor: Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64),
            resident_bytes: kibibytes * 1024,
        })
    }
}
