//! How a library opens MCP servers.

use std::sync::Arc;

use prowess::SourceError;
use prowess::source::Source;
use prowess::source::open::OpenServer;
use prowess::source::spec::Server;

use super::{McpLimits, McpSource};

/// Opens MCP servers for a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Servers {
    /// The limits for each server.
    pub limits: McpLimits,
}

impl OpenServer for Servers {
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::new(McpSource::new(label, server)?.with_limits(self.limits)))
    }
}
