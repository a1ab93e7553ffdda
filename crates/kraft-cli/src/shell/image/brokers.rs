//! Registrations of brokers and controllers.

use kraft_metadata::record::{
    BrokerRegistrationChangeRecord, RegisterBrokerRecord, RegisterControllerRecord,
};

use super::{Image, NotShown};

impl Image {
    pub(super) fn register_broker(&mut self, record: RegisterBrokerRecord) -> Result<(), NotShown> {
        if record.end_points.iter().any(|endpoint| endpoint.name.is_empty()) {
            let what = format!("broker {} has a listener without a name", record.broker_id);
            return Err(NotShown::Contradiction(what));
        }
        self.brokers.insert(record.broker_id, record);
        Ok(())
    }

    pub(super) fn register_controller(&mut self, record: RegisterControllerRecord) -> Result<(), NotShown> {
        let mut protocols = record
            .end_points
            .iter()
            .map(|endpoint| endpoint.security_protocol);
        if let Some(unknown) = protocols.find(|protocol| !(0..=3).contains(protocol)) {
            let id = record.controller_id;
            let what = format!("controller {id} has a listener of the unknown security protocol {unknown}");
            return Err(NotShown::Contradiction(what));
        }
        self.controllers.insert(record.controller_id, record);
        Ok(())
    }

    pub(super) fn change_broker(&mut self, record: BrokerRegistrationChangeRecord) -> Result<(), NotShown> {
        let (id, fenced, stopping) = (record.broker_id, record.fenced, record.in_controlled_shutdown);
        if !(-1..=1).contains(&fenced) || !(0..=1).contains(&stopping) {
            let what =
                format!("a change of broker {id} to fenced {fenced}, in controlled shutdown {stopping}");
            return Err(NotShown::Contradiction(what));
        }
        let broker = self.broker(id, record.broker_epoch)?;
        if fenced != 0 {
            broker.fenced = fenced == 1;
        }
        if stopping == 1 {
            broker.in_controlled_shutdown = true;
        }
        if !record.log_dirs.is_empty() {
            broker.log_dirs = record.log_dirs;
        }
        if record.cordoned_log_dirs.is_some() {
            broker.cordoned_log_dirs = record.cordoned_log_dirs;
        }
        Ok(())
    }

    /// The registration that has this epoch.
    pub(super) fn broker(&mut self, id: i32, epoch: i64) -> Result<&mut RegisterBrokerRecord, NotShown> {
        let broker = self.brokers.get_mut(&id);
        let broker = broker.filter(|broker| broker.broker_epoch == epoch);
        broker.ok_or_else(|| NotShown::NotThere(format!("broker {id} of epoch {epoch}")))
    }
}
