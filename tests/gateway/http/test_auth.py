"""Who calls: keys known by their digest alone, in every place where clients put a key."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from crosswind.gateway.config.loading import load
from crosswind.gateway.errors import ConfigurationError
from tests import ROOT
from tests.gateway.commands.test_bad_input import crosswind, refused
from tests.gateway.dialogue import body, user
from tests.gateway.servers import gateway, upstream

KEY = "a-key-of-ours-that-is-long-and-random"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()
KEYS = [{"key_sha256": hashlib.sha256(b"another").hexdigest()}, {"key_sha256": DIGEST, "tenant": "team"}]
BODY = body(user("hi"))
PLACES = {
    "bearer": ({"authorization": f"Bearer {KEY}"}, ""),
    "api-key": ({"api-key": KEY}, ""),
    "x-api-key": ({"x-api-key": KEY}, ""),
    "x-goog-api-key": ({"x-goog-api-key": KEY}, ""),
    "query": ({}, f"?a=%2F&key={KEY}&b"),
    "beside another credential": ({"authorization": "Bearer sk-other", "x-api-key": KEY}, ""),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kept", ["session", "configured"])
async def test_a_key_of_ours_is_known_everywhere_and_goes_no_further(
    tmp_path: Path, place: str, kept: str, capfd: pytest.CaptureFixture[str]
) -> None:
    headers, query = PLACES[place]
    settings = {"auth": "keys", "keys": KEYS, "upstream_key": "sk-upstream", "log": {"level": "debug"}}
    async with upstream() as app, gateway(tmp_path, app, **settings) as running:
        key = KEY
        if kept == "session":
            key = (await running.api("POST", "/api/sessions", {})).json()["api_key"]
            headers = {name: value.replace(KEY, key) for name, value in headers.items()}
            query = query.replace(KEY, key)
        for path in ("/v1/chat/completions", "/v1/files"):
            given = await running.http.post(f"{running.data}{path}{query}", json=BODY, headers=headers)
            assert given.status_code == 200, given.text
        for seen in app.requests:
            assert key not in str(seen.headers) + seen.path and "sk-other" not in str(seen.headers)
            assert seen.headers["authorization"] == "Bearer sk-upstream"
            assert seen.path.endswith("?a=%2F&b" if query else ("completions", "files"))
    assert key not in "".join(capfd.readouterr())


@pytest.mark.parametrize("wrong", [{}, {"authorization": f"Bearer {KEY}x"}, {"x-api-key": DIGEST}])
async def test_other_keys_are_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    async with upstream() as app, gateway(tmp_path, app, auth="keys", keys=KEYS) as running:
        given = await running.http.post(f"{running.data}/v1/chat/completions", json=BODY, headers=wrong)
        assert (given.status_code, given.json()["error"]["code"]) == (401, "invalid_api_key")
        assert not app.requests


async def test_a_clients_own_key_in_the_query_goes_on(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app) as running:
        await running.http.get(f"{running.data}/v1/files?key=AIza-theirs&x=%20")
        assert app.requests[0].path == "/v1/files?key=AIza-theirs&x=%20"


@pytest.mark.parametrize("entry", [{}, {"key": "k", "key_sha256": DIGEST}, {"key_sha256": DIGEST.upper()}])
def test_a_key_is_given_in_one_way(entry: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"upstream": "http://a", "auth": "keys", "keys": [entry]})
    assert "keys.0" in str(refusal.value) and DIGEST.upper() not in str(refusal.value)


def test_the_doctor_gives_a_keys_digest(tmp_path: Path) -> None:
    def run(typed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "crosswind.gateway.cli", "doctor", "--hash-key"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert yaml.safe_load(run(f"{KEY}\n").stdout) == {"key_sha256": DIGEST}
    assert "could be guessed from its digest" in refused(run("short\n"))


def test_an_environment_variable_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    said = refused(crosswind(tmp_path, "serve", CROSSWIND_UPSTREAM="http://a", CROSSWIND_PROT="1"))
    assert "environment variable CROSSWIND_PROT is no setting: did you mean 'CROSSWIND_PORT'?" in said
    said = refused(
        crosswind(tmp_path, "serve", CROSSWIND_UPSTREAM="http://a", CROSSWIND_TIMEOUTS__CONECT="1")
    )
    assert "unknown key 'timeouts.conect': did you mean 'connect'?" in said
