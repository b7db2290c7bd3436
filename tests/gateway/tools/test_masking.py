"""Events of tool traffic before they are written: no secret, nor a half of one, is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosswind.gateway.tools.events import LONGEST_TEXT, ToolEvent, of_injection
from crosswind.gateway.tools.masking import EventMask
from crosswind.injectors.engine.decision import Decision, Injection

KEY = "ghp_r8Kq2ZxW7vBn4TmYc1LsHd9PfJ3gUa6EoQ5i"
WORDS = "plain words of a password"


def event(before: str, **fields: Any) -> ToolEvent:
    named = {"link": "shop", "tool": "t", "anchor": "a", "operator": "tool.x", "note": "n"}
    return ToolEvent(id="i", session="s", at_us=1, before=before, **named, **fields)


def test_secrets_as_keys_of_json_and_half_a_character() -> None:
    (masked,) = EventMask().mask([event(json.dumps({KEY: 1}) + "\ud83d", after=KEY, draw={"said": KEY})])
    assert masked.before == '{"[redacted]": 1}\ud83d'
    assert (masked.after, masked.draw) == ("[redacted]", {"redacted": True})


@pytest.mark.parametrize("name", ["DB_PASS", "PASS", "MYSQL_PWD", "API_KEYS", "GITHUB_PAT", "KEY_PASSPHRASE"])
def test_values_of_variables_that_are_named_like_secrets(name: str) -> None:
    (masked,) = EventMask((), {name: WORDS, "PWD": "/home/somebody/here"}).mask([event(WORDS)])
    assert masked.before == "[redacted]"


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "PATH", "BYPASS", "COMPASS"])
def test_values_of_other_variables(name: str) -> None:
    (masked,) = EventMask((), {name: WORDS}).mask([event(WORDS)])
    assert masked.before == WORDS


@pytest.mark.parametrize("secret", [KEY, WORDS])
@pytest.mark.parametrize("shown", [1, 12, 24])
def test_no_half_of_a_secret_is_at_the_end_of_a_long_text(secret: str, shown: int) -> None:
    text = " " * (LONGEST_TEXT - shown) + secret + " " * LONGEST_TEXT
    decision = Decision("tool.x", "r", "tool_result", "slot", "a", None, 1.0, {}, "retry")
    made = of_injection("i", "s", 1, "shop", Injection(decision, text, text, "n", tool="t"))
    (masked,) = EventMask((), {"A_TOKEN": WORDS}).mask([made])
    assert masked.after == masked.before
    assert masked.before.removesuffix("…").strip() == "[redacted]"[:shown]
    assert len(masked.before) == LONGEST_TEXT + 1
