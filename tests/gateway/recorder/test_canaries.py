"""Credentials of 200 kinds, in every place that a request and an answer have, under every family of
profiles: none is stored, logged, counted, told in an error, exported or reported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from click.testing import CliRunner

from crosswind.gateway.recorder.redaction import APART, SHORTEST, Redactor
from crosswind.gateway.recorder.secret_rules import load_rules
from crosswind.gateway.trajectory.commands.export import export
from crosswind.studies.report.command import report
from crosswind.testing import ReceivedRequest
from tests.gateway.recorder.canaries import Canary, make_canaries
from tests.gateway.recorder.test_redaction import everything_stored
from tests.gateway.servers import answer, computed, gateway, upstream

CANARIES = make_canaries(12)
BARE = [one for one in CANARIES if one.bare]
PROFILES = (
    "chaos/confused-users", "agentnoisebench/all", "noisyagent/all", "robustbench-tc/Typo", "toolrl-dr/full",
    "wildgrid/drift", "state-augmentation/v1", "chaos/flaky-tools", "evolved/v1", "everything", "off",
)  # fmt: skip


def test_every_kind_is_known() -> None:
    assert len(CANARIES) >= 160 and len({one.kind for one in CANARIES}) == len(CANARIES)
    redactor = Redactor("redact")
    for form in ("Here it is: {} Thanks.", "{}"):
        missed = [
            one.kind
            for one in CANARIES
            for spelled in (one.text, json.dumps(one.text)[1:-1], json.dumps(json.dumps(one.text))[1:-1])
            if _piece(one) in _bare(redactor.mask_text(form.format(spelled)))
        ]
        assert not missed


def test_no_name_is_passed_unsearched_that_holds_one() -> None:
    rules = load_rules()
    forms = ("{}", "call:{}#0", "tool|{}", "a {} b", json.dumps, _escape)
    for one in CANARIES:
        for form in forms:
            name = form(one.text) if callable(form) else form.format(one.text)
            raw = name.encode()
            if rules.find(raw):
                assert rules.may_find(b"call:call_1#0\n%b\ncall:call_2#0" % raw), one.kind
            missed = [part for part in (raw, raw.translate(APART)) if rules.find(part)]
            assert Redactor("keep").is_clean_name(name) == (not missed or len(raw) < SHORTEST), one.kind


def _escape(text: str) -> str:
    """The text as JSON may write it, too: no keyword stands there as it is spelt."""
    return "".join(f"\\u{ord(one):04x}" for one in text)


async def test_none_is_stored_told_or_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = []
    async with upstream(computed(_echo)) as app:
        cap = {"profiles": list(PROFILES)}
        log = {"level": "debug"}
        async with gateway(tmp_path, app, steering=True, steering_cap=cap, log=log) as running:
            for number, profile in enumerate(PROFILES):
                texts = [one.text for one in CANARIES[number :: len(PROFILES)]]
                texts += [one.text for one in CANARIES[:: len(PROFILES) * 2]]
                headers = {"x-crosswind-profile": profile, **_headers(number)}
                said: list[Any] = []
                for at in range(0, len(texts), 8):
                    said += _messages(texts[at : at + 8], number * 7 + len(said))
                    body = {
                        "model": BARE[number].secret, "messages": said,
                        "tools": _tools(BARE[number + 20].secret),
                        "metadata": {"note": texts[at]}, "user": BARE[number + 40].secret,
                        "stream": bool(at % 16),
                    }  # fmt: skip
                    url = f"{running.data}/s/s{number}/v1/chat/completions?token={_query(number)}"
                    try:
                        answered = await running.http.post(url, json=body, headers=headers)
                    except httpx.TransportError:
                        assert profile == "everything", "its noise alone cuts connections"
                    else:
                        assert answered.status_code in (200, 400, 401, 403, 408, 429, 500, 502, 503, 504, 529)
                    said.append({"role": "assistant", "content": "ok"})
            for at, one in enumerate(BARE):
                told.append((await _name_everything(running, one.secret, at)).text)
            await running.flush()
            told += [(await running.api("GET", "/metrics")).text]
            told += [
                (await running.api("GET", f"/api/sessions/s{at}/events")).text for at in range(len(PROFILES))
            ]
            told += [(await running.api("GET", f"/api/sessions/s{at}/trajectory")).text for at in range(3)]
    kept = everything_stored(tmp_path / "store.db").decode("utf-8", "replace")
    store = f"sqlite:///{tmp_path}/store.db"
    exported = CliRunner().invoke(export, ["--store", store, "--out", str(tmp_path / "out.jsonl")])
    reported = CliRunner().invoke(report, ["--store", store, "--out", str(tmp_path / "report.html")])
    assert (exported.exit_code, reported.exit_code) == (0, 0), exported.output + reported.output
    files = [(tmp_path / name).read_text() for name in ("out.jsonl", "report.html")]
    places = {
        "store": kept,
        "log": "".join(capfd.readouterr()),
        "told": "".join(told),
        "files": "".join(files),
    }
    assert "[redacted]" in places["store"] and "user.redundant" in places["store"]
    secrets = [*((one.kind, one.secret) for one in CANARIES), *_own_credentials()]
    for place, text in places.items():
        bare = _bare(text)
        left = [(kind, secret) for kind, secret in secrets if _middle(secret) in bare]
        assert not left, (place, left[:20])


async def _name_everything(running: Any, key: str, at: int) -> Any:
    """Put a key where names and ids stand: all is refused, or masked."""
    kinds = (
        "x-crosswind-session",
        "x-crosswind-task",
        "x-crosswind-group",
        "x-crosswind-profile",
        "x-crosswind-seed",
    )
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    header = {kinds[at % len(kinds)]: key}
    match at % 4:
        case 0:
            return await running.api("POST", "/api/sessions", {"task_id": key, "labels": {"k": key}})
        case 1:
            return await running.http.get(f"{running.data}/nowhere/{quote(key, safe='')}")
        case 2:
            return await running.api("POST", "/api/sessions", {"labels": {"k": key}, "profile": key})
        case _:
            return await running.http.post(f"{running.data}/v1/chat/completions", json=asked, headers=header)


def _own_credentials() -> list[tuple[str, str]]:
    return [
        (name, value)
        for number in range(len(PROFILES))
        for name, value in _headers(number).items()
        if not name.startswith("x-crosswind")
    ] + [("query", _query(number)) for number in range(len(PROFILES))]


def _headers(number: int) -> dict[str, str]:
    """Credentials without any shape, which nothing but their header's name gives away."""
    plain = f"a plain word of secret number {number} indeed"
    return {
        "cookie": f"sid=cookie-{number}-crumbs-and-more-crumbs",
        "x-auth-token": plain.replace(" ", "~"),
        "x-amz-security-token": plain.replace(" ", "^"),
        "authorization": f"Digest user-{number}-response-of-the-digest-kind",
    }


def _query(number: int) -> str:
    return f"query-{number}-has-a-plain-token-of-words"


def _tools(name: str) -> list[Any]:
    function = {"name": name, "description": f"Look up with {name}.", "parameters": {"type": "object"}}
    return [{"type": "function", "function": function}]


def _messages(texts: list[str], first: int) -> list[Any]:
    """Texts as a user's messages, as a call's arguments and as a result, under an id that is a key."""
    messages: list[Any] = []
    for at, text in enumerate(texts):
        if at % 3:
            said = f"Hello, I need some help with my order W1234 please. My key is {text} and I like it. Bye."
            messages.append({"role": "user", "content": said})
            continue
        function = {"name": "get_order", "arguments": json.dumps({"order_id": text})}
        result = json.dumps({"order_id": "W1", "note": text, "items": ["lamp", "desk"], "total": 120.5})
        name = BARE[(first + len(messages)) % len(BARE)].secret
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": name, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": name, "content": result},
        ]
    return messages


def _echo(seen: ReceivedRequest) -> dict[str, Any]:
    """An answer that says what was sent, headers and query included, as some upstreams do."""
    said = json.dumps([seen.headers, seen.path, [one["content"] for one in seen.json["messages"][-9:]]])
    return answer(said) | {"id": BARE[len(said) % len(BARE)].secret, "model": seen.json["model"]}


def _bare(text: str) -> str:
    return re.sub(r"\\+[nrt\"]|[^A-Za-z0-9]", "", text).lower()


def _middle(secret: str) -> str:
    """Letters and digits from the middle of a secret: what noise may have left."""
    bare = _bare(secret)
    return bare[len(bare) // 2 - 7 : len(bare) // 2 + 7]


def _piece(one: Canary) -> str:
    return _middle(one.secret)
