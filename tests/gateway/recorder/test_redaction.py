"""Credentials are never stored, logged or counted; secrets in texts follow `body_secrets`."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.recorder.remains import Remains
from crosswind.testing import plain
from tests.gateway.dialogue import PROFILE, body, history, user
from tests.gateway.engine import engine
from tests.gateway.servers import Running, answer, gateway, upstream

VAULT = "aB3dE5gH1jK2mN4pQ6rS8tU0vX7yZ9wC"
SECRETS = [
    "sk-abcdefghijklmnopqrstuvwx1234",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
    "a-configured-key-without-a-shape",
    "the-clients-own-credential",
]
TEXT = "My keys are " + " and ".join(SECRETS)
CREDENTIAL = {"authorization": f"Bearer {SECRETS[-1]}"}


def everything_stored(file: Path) -> bytes:
    """All bytes of the store: its file, its log, and every value as SQLite gives it."""
    connection = sqlite3.connect(file)
    connection.text_factory = bytes
    names = [
        name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    rows = [row for name in names for row in connection.execute(f"SELECT * FROM {name}")]
    connection.close()
    files = b"".join(one.read_bytes() for one in file.parent.glob(f"{file.name}*"))
    return files + b"\n".join(value for row in rows for value in row if isinstance(value, bytes))


async def rollout(running: Running) -> str:
    return str((await running.api("POST", "/api/sessions", {"group_id": "g"})).json()["id"])


async def test_secrets_in_texts_are_masked_in_the_store_and_nowhere_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    echo = {"choice": {"message": {"role": "assistant", "content": TEXT}}}
    async with upstream(engine(**echo)) as app:
        async with gateway(
            tmp_path, app, noise=PROFILE, upstream_key=SECRETS[-2], log={"level": "debug"}
        ) as running:
            session = await rollout(running)
            given = await running.chat(body(user(TEXT)), session, **CREDENTIAL)
            assert given.json()["choices"][0]["message"]["content"] == TEXT
            assert app.requests[0].texts()[0] != TEXT and TEXT in app.requests[0].texts()[0], (
                "the policy sees all of it"
            )
            await running.chat(
                body(user(TEXT), {"role": "assistant", "content": "ok"}, user("Thanks!")),
                session,
                **CREDENTIAL,
            )
            stored = await running.trajectory(session)
            assert [turn["fitness"] for turn in stored["turns"]] == ["redacted_secret"] * 2
            assert all(
                not turn["prompt_ids"] and not turn["completions"][0]["token_ids"] for turn in stored["turns"]
            )
            assert all(
                "[redacted]" in turn[view]
                for turn in stored["turns"]
                for view in ("received", "sent", "produced")
            )
            assert json.loads(stored["turns"][0]["received"])
            assert app.requests[1].texts()[0] == app.requests[0].texts()[0]
            metrics = (await running.api("GET", "/metrics")).text
        async with gateway(tmp_path, app, noise=PROFILE, upstream_key=SECRETS[-2]) as running:
            await running.chat(
                body(user(TEXT), {"role": "assistant", "content": "ok"}, user("Thanks!")),
                session,
                **CREDENTIAL,
            )
            assert app.requests[2].texts() == app.requests[1].texts(), (
                "noise stays put although its text was not stored"
            )
    kept = everything_stored(tmp_path / "store.db")
    out, err = capfd.readouterr()
    for secret in SECRETS:
        for form in (secret.encode(), json.dumps(secret)[1:-1].encode()):
            assert form not in kept
        assert secret not in out + err + metrics


@pytest.mark.parametrize("mode", ["redact", "keep"])
async def test_a_key_is_masked_where_an_upstream_names_the_end_of_an_answer_or_a_version(
    tmp_path: Path, mode: str
) -> None:
    key = "a-configured-key-without-a-shape"
    choice = answer()["choices"][0]
    choice |= {"finish_reason": key, "weight_versions": [{"version": key, "start": 0, "end": 2}]}
    async with (
        upstream(plain(answer(choices=[choice]))) as app,
        gateway(tmp_path, app, upstream_key=key, body_secrets=mode) as running,
    ):
        answered = await running.chat(body(user("Hi.")), "s")
        assert answered.json()["choices"] == [choice]
        (turn,) = (await running.trajectory("s"))["turns"]
        assert turn["finish_reason"] == "[redacted]" and key not in json.dumps(turn)
    assert key.encode() not in everything_stored(tmp_path / "store.db")


async def test_a_session_key_is_stored_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        key = (await running.api("POST", "/api/sessions", {})).json()["api_key"]
        await running.chat(body(user(f"my key is {key}")), authorization=f"Bearer {key}")
        await running.chat(body(user("hi")), "other", authorization=f"Bearer {key}")
    assert key.encode() not in everything_stored(tmp_path / "store.db")
    assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", ["session", "task", "group"])
async def test_a_key_given_as_a_name_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    key = "a-key-in-the-wrong-place"
    async with upstream() as app, gateway(tmp_path, app, steering=True) as running:
        sent = {"authorization": f"Bearer {key}", f"x-crosswind-{name}": key}
        refused = await running.chat(body(user("hi")), **sent)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "secret_in_name")
        if name == "session":
            by_path = await running.chat(body(user("hi")), key, authorization=f"Bearer {key}")
            assert by_path.status_code == 400 and key not in by_path.text
        assert key not in refused.text and not app.requests
    assert key.encode() not in everything_stored(tmp_path / "store.db")
    assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize(("mode", "fitness"), [("keep", "fit"), ("block_training", "contains_secret")])
async def test_texts_may_be_kept(tmp_path: Path, mode: str, fitness: str) -> None:
    async with upstream(engine()) as app, gateway(tmp_path, app, body_secrets=mode) as running:
        session = await rollout(running)
        await running.chat(body(user(TEXT)), session)
        (turn,) = (await running.trajectory(session))["turns"]
        assert turn["fitness"] == fitness
        assert json.loads(turn["received"]) == body(user(TEXT)) and turn["prompt_ids"]


@pytest.mark.parametrize("record", ["metadata", "none"])
async def test_less_may_be_recorded(tmp_path: Path, record: str) -> None:
    async with upstream() as app, gateway(tmp_path, app, record=record, noise=PROFILE) as running:
        for turn in (1, 2):
            await running.chat(body(*history(turn)), "s")
        assert app.requests[1].texts()[0] == app.requests[0].texts()[0] != history(1)[0]["content"]
        stored: Any = await running.trajectory("s")
        if record == "none":
            assert stored["error"]["code"] == "session_not_found"
        else:
            assert [turn["received"] for turn in stored["turns"]] == [None, None]
            assert {one["before"] for one in stored["events"]} == {""}


def test_ordinary_texts_are_left_alone() -> None:
    redactor = Redactor("redact", ["EMPTY", "a-long-configured-key"])
    for text in (
        b"task-force is ask-ing",
        b"cw-5",
        b"EMPTY",
        b"order #W17 for sk-1",
        b"bearer of news",
        b"eyJ.eyJ.",
    ):
        assert redactor.mask(text) is text
    assert redactor.mask(b"x a-long-configured-key y") == b"x [redacted] y"


_FRAGMENTS = [
    b"sk-", b"SK-", b"cw-", b"AKIA", b"ghp_", b"eyJ", b".eyJ", b".", b"Bearer ", b"_", b"-", b"\xff",
    b"-----BEGIN RSA PRIVATE KEY-----", b"-----END RSA PRIVATE KEY-----", b"a" * 10, b"A0" * 8, b"x9" * 20,
    b" ", b"\n", b"\\n", b'\\"', b"\\u002b", b"\\/", b"api_key=", b'"token": "', b"://u:", b"@x",
    b"a-long-configured-key", b"the-callers-own-key",
]  # fmt: skip


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=12).map(b"".join))
def test_masking_is_stable_and_leaves_what_has_no_secret(text: bytes) -> None:
    redactor = Redactor("redact", ["a-long-configured-key"]).of_turn(("the-callers-own-key",))
    masked = redactor.mask(text)
    assert b"a-long-configured-key" not in masked and b"the-callers-own-key" not in masked
    assert (masked is text) == (masked == text) == (not redactor.contains_secret(text))
    assert redactor.mask(text) == masked, "the second time, too"


def test_what_is_clean_for_one_caller_is_looked_through_for_another() -> None:
    redactor = Redactor("redact")
    piece = b"x " * 1500 + b"the-callers-own-key"
    for _ in range(3):
        assert redactor.of_turn(("another-callers-key",)).mask(piece) is piece
        assert redactor.of_turn(("the-callers-own-key",)).mask(piece) == b"x " * 1500 + b"[redacted]"
    for number in range(40):
        assert redactor.of_turn((f"the-key-of-caller-{number}",)).mask(piece) is piece
    assert redactor.of_turn(("the-callers-own-key",)).mask(piece) == b"x " * 1500 + b"[redacted]"


def test_what_was_clean_is_looked_through_for_a_secret_that_came_later() -> None:
    redactor, remains = Redactor("redact"), Remains()
    left = b"What noise left: sk abcdefghijklm"
    for _ in range(3):
        assert redactor.of_turn((), remains).mask(left) is left
    redactor.of_turn((), remains).mask(b"My key is " + SECRETS[0].encode())
    assert redactor.of_turn((), remains).mask(left) == b"What noise left: [redacted]"


ESCAPES: dict[str, Callable[[str], str]] = {
    "slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "all": lambda text: '"' + "".join(f"\\u{ord(one):04x}" for one in text) + '"',
    "twice": lambda text: json.dumps(json.dumps(text).replace("/", "\\/")),
}


@pytest.mark.parametrize("name", ESCAPES)
async def test_a_credential_is_masked_however_json_spells_it(tmp_path: Path, name: str) -> None:
    credential = "a/clients/own/credential"
    spelled = ESCAPES[name](f"My key is {credential}, and my order is late.")
    raw = b'{"model": "m", "messages": [{"role": "user", "content": %b}]}' % spelled.encode()
    async with upstream() as app, gateway(tmp_path, app, noise=PROFILE) as running:
        given = await running.chat(raw, "escaped", authorization=f"Bearer {credential}")
        assert given.status_code == 200
        (turn,) = (await running.trajectory("escaped"))["turns"]
    told = json.loads(turn["received"])["messages"][0]["content"]
    assert "My key is [redacted], and my order is late." in told
    kept = everything_stored(tmp_path / "store.db")
    assert credential.encode() not in kept and credential.replace("/", "\\/").encode() not in kept


DEFECT = """\
import structlog
from crosswind.gateway.config.sections import Logging
from crosswind.gateway.telemetry.logs import configure

def serve(headers):
    raise RuntimeError("a defect")

configure(Logging(format={format!r}))
try:
    serve({{"authorization": "Bearer {secret}"}})
except RuntimeError:
    structlog.get_logger().exception("a defect of the gateway's")
"""


CLOSED = """\
import os, sys, threading
from pathlib import Path
import structlog
from crosswind.gateway.config.sections import Logging
from crosswind.gateway.telemetry.logs import configure

reader, writer = os.pipe()
if {how!r} == "none":
    sys.stderr = None
configure(Logging())
if {how!r} == "broken":
    os.dup2(writer, 2)
    os.close(reader)
elif {how!r} == "closed":
    sys.stderr.close()

def log():
    for number in range(3):
        structlog.get_logger().error("the store is down", number=number)
    print("went on", flush=True)

thread = threading.Thread(target=log)
thread.start()
thread.join()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["broken", "closed", "none"])
def test_a_log_that_nobody_reads_breaks_nothing(how: str) -> None:
    """`crosswind serve 2>&1 | head`: the recorder's thread logs, and goes on."""
    script = CLOSED.format(how=how)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "went on\n"


@pytest.mark.parametrize("format", ["console", "json"])
def test_a_traceback_in_the_log_tells_no_values(format: str) -> None:
    script = DEFECT.format(format=format, secret=SECRETS[-1])
    logged = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    assert "RuntimeError: a defect" in logged and "in serve" in logged
    assert SECRETS[-1] not in logged


def test_what_noise_leaves_of_a_secret_is_masked() -> None:
    redactor = Redactor("redact").of_turn(("a-plain-word-as-a-key",), Remains())
    key = "sk-aB3dE5gH7jK9mN1pQ3sT5vW7"
    lines = ["MIIEowIBAAKCAQEAx7Kq9sT2vB4nM6pQ8rS0uW1yZ3", "aC5eG7iK9mO1qS3uW5yA7cE9gI1kM3oQ5sU7wY9bD1"]
    pem = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    whole = f"My keys are {key} and a-plain-word-as-a-key and {pem}."
    assert redactor.mask_text(whole) == "My keys are [redacted] and [redacted] and [redacted]."
    for left in (
        key[:14], key.upper(), " ".join(key), f"{key[:9]}\n{key[9:]}", f"{key[:12]}x{key[13:]}",
        lines[0], lines[1][:20], "\n".join(lines), "plain\nword as a key",
    ):  # fmt: skip
        assert redactor.mask_text(f"So: {left}") == "So: [redacted]"
    assert Redactor("redact").mask_text(f"So: {key[:14]}") == f"So: {key[:14]}"


def test_many_backslashes_take_no_longer_than_other_bytes() -> None:
    """Before, a million of them took hours."""
    text = b"\\" * 1_000_000 + b" \\/ " + SECRETS[0].encode()
    assert Redactor("redact").mask(text).endswith(b" \\/ [redacted]")


@pytest.mark.parametrize(
    "token", [f"s.{VAULT[:24]}", f"hvs.{VAULT}_-{VAULT[::-1]}-{VAULT}"], ids=["old", "new"]
)
def test_a_token_of_vault_is_found_behind_sentences_that_end_like_one(token: str) -> None:
    said = f"It has the guests. They booked rooms. {token} opens the doors."

    assert Redactor("redact").mask_text(said) == said.replace(token, "[redacted]")


KNOWN = "ghp_Zk3Jq8Lm2Xw9Pv5Rt7Yb1Nc4Ds6Fg0HaQe2U"


@pytest.mark.parametrize(
    ("mode", "secret"), [("redact", KNOWN), ("block_training", SECRETS[-1]), ("keep", SECRETS[-1])]
)
async def test_tokens_that_the_client_asked_for_do_not_spell_a_secret_in_the_store(
    tmp_path: Path, mode: str, secret: str
) -> None:
    pieces = [secret[at : at + 5] for at in range(0, len(secret), 5)]
    entries = [
        {"token": one, "logprob": -0.1, "bytes": [*one.encode()], "top_logprobs": []} for one in pieces
    ]
    message = {"role": "assistant", "content": f"It is {secret}."}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "token_ids": [4711, 4712]}
    raw = answer(choices=[{**choice, "logprobs": {"content": entries}}], prompt_token_ids=[4713])
    async with upstream(plain(raw)) as app, gateway(tmp_path, app, body_secrets=mode) as running:
        asked = body(user("What is it?")) | {"logprobs": True, "return_token_ids": True}
        assert (await running.chat(asked, "s", **CREDENTIAL)).json() == raw
        (turn,) = (await running.trajectory("s"))["turns"]
        assert json.loads(turn["produced"])["choices"][0] == {
            **choice,
            "message": {"role": "assistant", "content": "It is [redacted]."},
            "token_ids": [],
            "logprobs": None,
        }
        assert "4713" not in turn["produced"]
        await running.chat(asked | {"messages": [user("And now?")]}, "other")
        (turn,) = (await running.trajectory("other"))["turns"]
        if mode != "redact":
            assert json.loads(turn["produced"]) == raw, "what has no secret is kept"


async def test_a_responses_tokens_do_not_spell_a_secret_in_the_store(tmp_path: Path) -> None:
    entry = {"token": KNOWN[:9], "logprob": -0.1, "bytes": [], "top_logprobs": []}
    text = {"type": "output_text", "text": KNOWN, "annotations": [], "logprobs": [entry]}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    raw = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item]}
    async with upstream(plain(raw)) as app, gateway(tmp_path, app) as running:
        asked = {"model": "m", "input": "What is it?", "include": ["message.output_text.logprobs"]}
        given = await running.http.post(f"{running.data}/s/s/v1/responses", json=asked)
        assert given.json() == raw
        (turn,) = (await running.trajectory("s"))["turns"]
        assert KNOWN[:9] not in turn["produced"] and '"logprobs": []' in turn["produced"]
