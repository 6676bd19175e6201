"""Request vectors: each body through the decoder of its wire and the encoder of another.

`request` and `expected` are bodies as text, compared as JSON, or byte for byte with `exact`. `model` and `host` choose
the target's rules, `rules` overrides some of them. `notices` are the codes of all notices, `fault` is a part of the
fault's message (and `code` its code) where the request is none.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from thinkwire import WireFault
from thinkwire.capabilities import find_rules
from thinkwire.model import Notices, Request
from thinkwire.wires.registry import find_wire

VECTORS = Path(__file__).parent.parent / "vectors" / "requests"
KEYS = {
    "name",
    "refs",
    "why",
    "source",
    "target",
    "model",
    "host",
    "rules",
    "request",
    "fill",
    "expected",
    "exact",
    "notices",
    "fault",
    "code",
}


def load() -> list[Any]:
    cases = []
    for path in sorted(VECTORS.glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in file["case"]:
            merged = file.get("defaults", {}) | case
            assert set(merged) <= KEYS, f"{path.name}, {case['name']}: {set(merged) - KEYS}"
            if "model" not in case and "fault" in case:
                merged.setdefault("model", None)
            cases.append(pytest.param(merged, id=f"{path.stem}/{case['name']}"))
    return cases


def body(case: dict[str, Any]) -> bytes:
    text: str = case["request"]
    for marker, (opener, closer, times) in case.get("fill", {}).items():
        text = text.replace(marker, opener * times + closer * times)
    return text.encode()


def convert(case: dict[str, Any], notices: Notices) -> bytes:
    request = find_wire(case["source"]).decode_request(body(case), notices)
    return encode(case, request, case["source"], notices)


def encode(case: dict[str, Any], request: Request, source: str, notices: Notices) -> bytes:
    model = case.get("model")
    rules = find_rules(case["target"], model, request.model, case.get("host"), case.get("rules"))
    return find_wire(case["target"]).encode_request(request, source, notices, rules, model)


CASES = load()


@pytest.mark.parametrize("case", CASES)
def test_vector(case: dict[str, Any]) -> None:
    notices = Notices()
    if "fault" in case:
        with pytest.raises(WireFault) as caught:
            convert(case, notices)
        assert case["fault"] in caught.value.message
        assert (caught.value.blame, caught.value.phase) == ("client", "request")
        assert caught.value.code == case.get("code", caught.value.code)
        return
    out = convert(case, notices)
    if case.get("exact"):
        assert out.decode() == case["expected"]
    assert msgspec.json.decode(out) == msgspec.json.decode(case["expected"])
    assert sorted(notice.code for notice in notices) == case.get("notices", [])


@pytest.mark.parametrize("case", [case for case in CASES if "fault" not in case.values[0]])
def test_written_once_more_it_is_the_same(case: dict[str, Any]) -> None:
    """The same request gives the same bytes, and what was written for a target needs no change for it."""
    target = find_wire(case["target"])
    first = convert(case, Notices())
    assert convert(case, Notices()) == first
    again = target.decode_request(first, Notices())
    assert encode(case, again, case["target"], Notices()) == first
