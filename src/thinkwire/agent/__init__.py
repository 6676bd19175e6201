"""The agent client: native thinking for Python programs. See docs/agent/."""

from thinkwire.agent.abort import Abort
from thinkwire.agent.client import Client
from thinkwire.agent.events import AgentEvent
from thinkwire.agent.options import Specification, StreamingOptions, ThinkingConfig
from thinkwire.agent.store import Entry, SqliteStore
from thinkwire.agent.ui import UiAdapter
from thinkwire.model import Media, Sampling, Text, Tool, ToolChoice

__all__ = [
    "Abort",
    "AgentEvent",
    "Client",
    "Entry",
    "Media",
    "Sampling",
    "Specification",
    "SqliteStore",
    "StreamingOptions",
    "Text",
    "ThinkingConfig",
    "Tool",
    "ToolChoice",
    "UiAdapter",
]
