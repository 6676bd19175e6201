"""The first segment of the path: what it sets, and what it says when it cannot."""

from __future__ import annotations

import pytest

from thinkwire.lab.personas import PERSONAS
from thinkwire.lab.setting import NoSuchPlace, Setting, read_setting

ALL = {persona.name: persona for persona in PERSONAS}


def test_a_name_alone() -> None:
    assert read_setting("think", ALL) == Setting(ALL["think"])


def test_every_option() -> None:
    options = "pace=0.02,first=1,seed=-7,size=50,fault=cut,after=9,tools=parallel,rounds=3,mood=lively,org=a"
    read = read_setting(f"claude,{options}", ALL)
    assert read == Setting(ALL["claude"], 0.02, 1.0, -7, 50, "cut", 9, "parallel", 3, "lively", "a")


def test_who_names_the_same_organisation_shares_its_secret() -> None:
    one, same, other = (read_setting(segment, ALL) for segment in ("claude,org=a", "gemini,org=a", "claude,org=b"))
    assert one.secret == same.secret != other.secret
    assert read_setting("claude", ALL).secret == ALL["claude"].secret


@pytest.mark.parametrize(
    ("segment", "words"),
    [
        ("nobody", "no persona 'nobody'; there are: think, "),
        ("think,speed=1", "no option 'speed'; there are: pace, "),
        ("think,pace", "no option 'pace'"),
        ("think,pace=fast", "pace cannot be 'fast'"),
        ("think,pace=-1", "pace cannot be '-1'"),
        ("think,pace=nan", "pace cannot be 'nan'"),
        ("think,after=1.5", "after cannot be '1.5'"),
        ("think,size=100001", "size cannot be"),
        ("think,fault=x", "there are: endless, "),
        ("think,tools=all", "never, auto, or parallel"),
        ("think,mood=bad", "calm, or lively"),
        ("think,org=", "org cannot be ''"),
    ],
)
def test_what_there_is_not(segment: str, words: str) -> None:
    with pytest.raises(NoSuchPlace, match=words.replace("?", r"\?")):
        read_setting(segment, ALL)
