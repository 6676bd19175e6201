"""The tool round at the end of a conversation, as Claude judges it: a manual budget is refused there unless the turn
begins with a thought ("Expected `thinking` or `redacted_thinking`, but found `tool_use`").

A turn is all that the model said since the user's last own words. A model that does not think between its calls says
nothing in front of later ones, so a thought at the beginning of any of its messages will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_Test = Callable[[dict[str, Any]], bool]


def lacks_thought(messages: Sequence[dict[str, Any]], is_result: _Test, is_thought: _Test) -> bool:
    """Whether the conversation, as it is written, stops inside a tool round of which no message begins with a
    thought."""
    if not messages or not _is_results(messages[-1], is_result):
        return False
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message["content"][0]
            if isinstance(first, dict) and is_thought(first):
                return False
        elif not _is_results(message, is_result):
            break
    return True


def _is_results(message: dict[str, Any], is_result: _Test) -> bool:
    blocks = message["content"]
    return message["role"] == "user" and any(isinstance(block, dict) and is_result(block) for block in blocks)
