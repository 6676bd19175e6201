"""What a vendor and its client say to one another that is not the gateway's to judge, also where it has to convert."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.gateway.rig import Loop, streamed
from tests.gateway.test_exchange import EVENTS, event
from tests.gateway.test_history import ANSWER, Rig, history, replies, thinking

DROPPED = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}]
BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BACKENDS: dict[str, dict[str, Any]] = {
    "as it comes": {"trust": "claude"},
    "converted": {"trust": "claude", "model": "claude-opus-4-6"},
}
REPLY = {
    **ANSWER,
    "content": [{"type": "new_kind", "x": 1}, *ANSWER["content"]],  # type: ignore[misc]  # a list
    "input_transformations": DROPPED,
}


@pytest.fixture
def rig(loop: Loop) -> Iterator[Rig]:
    with ExitStack() as stack:
        yield Rig(loop, stack, BACKENDS)


def asked(backend: str, **more: Any) -> dict[str, Any]:
    contents = ("q", [thinking("a", "sigA"), {"type": "text", "text": "x"}], "more")
    return history(*contents, model=backend, thinking=BINDING, new_field={"x": 1.0}, **more)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_nobody_here_knows_passes(rig: Rig, backend: str) -> None:
    """D22: unknown beta flags, fields and blocks in both directions."""
    rig.up[backend].script = replies((200, REPLY))
    _, _, told = rig.ask(asked(backend), headers="anthropic-beta: unknown-2027\r\n")
    seen = rig.seen(backend)
    assert rig.up[backend].asked[-1].headers["anthropic-beta"] == "unknown-2027"
    assert seen["thinking"] == BINDING
    assert seen["new_field"] == {"x": 1.0}
    assert seen["messages"] == asked(backend)["messages"]
    assert told["content"] == REPLY["content"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_thoughts_that_the_vendor_drops_are_told_to_the_client_and_to_the_log(
    rig: Rig, backend: str, stream: bool
) -> None:
    """D24: in its own words to the client; as a notice in the record of the request."""
    start = {"type": "message_start", "message": {**ANSWER, "content": [], "input_transformations": DROPPED}}
    rig.up[backend].script = streamed([event(json.dumps(start)), *EVENTS[1:]]) if stream else replies((200, REPLY))
    rig.client.post("/v1/messages", asked(backend, stream=stream))
    _, _, body = rig.client.reply()
    told = json.loads(body.partition(b"data: ")[2].partition(b"\n")[0])["message"] if stream else json.loads(body)
    assert told["input_transformations"] == DROPPED
    assert "reasoning_dropped" in [notice.code for notice in rig.running.over().notices]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_history_that_was_read_whole_is_no_news(rig: Rig, backend: str) -> None:
    rig.up[backend].script = replies((200, {**REPLY, "input_transformations": []}))
    rig.ask(asked(backend))
    assert "reasoning_dropped" not in [notice.code for notice in rig.running.over().notices]
