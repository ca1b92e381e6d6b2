//! The tool that runs a script of a skill.

use crate::path::RelPath;
use crate::session::effect::{Failure, Step};
use crate::session::event::Actor;
use crate::session::interface::arguments::Values;
use crate::session::interface::result::Reason;
use crate::session::policy::Act;
use crate::session::state::Goal;
use crate::session::{Filter, Session};

impl Session {
    pub(in crate::session) fn run(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let refused = "scripts are not run here";
        let hint = "read the script and do the work with other tools";
        if !self.policy.run {
            return self.refuse(Reason::RunRefused, refused, hint);
        }
        let (key, files) = match self.resolve(&values.skill, Act::Run, Actor::Model, filter.as_ref()) {
            Ok(candidate) => (candidate.entry.key.clone(), candidate.approved_files.clone()),
            Err(refusal) => return self.refused(*refusal),
        };
        // The path becomes an argument of a program, so the strict rules apply: a name with `-` could be an option.
        let asked = RelPath::from_request(values.path.as_deref().unwrap_or_default());
        match asked.and_then(|path| RelPath::parse(path.as_str())) {
            Ok(path) if files.is_some_and(|files| files.get(&path).is_none()) => {
                self.read_failed(path.as_str(), Failure::Missing)
            }
            Ok(path) => self.begin(Actor::Model, filter, Goal::Run { key, path, args: values.args }),
            Err(error) => self.bad_path(&error),
        }
    }
}
