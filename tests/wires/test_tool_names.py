"""Names of tools that a strict wire refuses: offered under another name, and called by the client's own."""

from __future__ import annotations

import json
import re

from tests.conformance.wires.bedrock import from_line

from thinkwire import StreamTranslator, translate_request

LONG = "mcp__company-wiki__search_all_documents_of_the_department_by_author_and_year"
ODD = "wiki.search"
BODY = {
    "model": "claude-opus-5",
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": LONG, "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
    ],
    "tools": [{"name": name, "input_schema": {"type": "object"}} for name in (LONG, ODD, "plain")],
    "tool_choice": {"type": "tool", "name": LONG},
}


def test_names_are_changed_and_changed_back() -> None:
    translated = translate_request(json.dumps(BODY).encode(), source="anthropic", target="bedrock", model="m")
    body = json.loads(translated.body)
    names = [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert names[2] == "plain"
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": names[0]}}
    assert body["messages"][1]["content"][0]["toolUse"]["name"] == names[0]
    assert "converted" in [notice.code for notice in translated.notices]

    stream = StreamTranslator("bedrock", "anthropic", tools=translated.tools)
    called = {"toolUse": {"toolUseId": "t2", "name": names[0]}}
    start = json.dumps({"contentBlockStart": {"contentBlockIndex": 0, "start": called}})
    assert f'"name":"{LONG}"'.encode() in stream.feed(from_line(start))


def test_wires_that_take_every_name_get_it_as_it_came() -> None:
    translated = translate_request(json.dumps(BODY).encode(), source="anthropic", target="openai-chat", model="m")
    assert [tool["function"]["name"] for tool in json.loads(translated.body)["tools"]] == [LONG, ODD, "plain"]
