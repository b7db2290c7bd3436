"""Several upstreams: each is chosen by the model's name and gets requests in its dialect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from structlog.testing import capture_logs

from crosswind.gateway.config.loading import load
from crosswind.gateway.config.provider_presets import DIALECTS
from crosswind.gateway.errors import ConfigurationError
from crosswind.testing import ScriptedProvider
from crosswind.testing.replies import Reply, plain
from tests.gateway.dialogue import body, user
from tests.gateway.servers import Running, gateway, upstream


def models(*ids: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in ids]}


@asynccontextmanager
async def gateway_to(
    tmp_path: Path, *replies: Reply, **settings: Any
) -> AsyncIterator[tuple[ScriptedProvider, Running]]:
    """A gateway in front of a single upstream with these settings."""
    async with upstream(*replies) as app:
        entry = {"name": "one", "base": app.url, **settings}
        async with gateway(tmp_path, app, upstream=None, upstreams=[entry]) as running:
            yield app, running


async def test_the_first_upstream_that_has_the_model_gets_the_turn(tmp_path: Path) -> None:
    async with upstream() as one, upstream() as two, upstream() as rest:
        several = [
            {
                "name": "one",
                "base": f"{one.url}/v1",
                "models": ["gpt-*", "fast"],
                "model_map": {"fast": "gpt-5-mini"},
            },
            {"name": "two", "base": f"{two.url}/api/v1", "models": ["gpt-4*", "qwen/*"]},
        ]
        async with gateway(tmp_path, rest, upstreams=several) as running:
            for model in ("gpt-4o", "fast", "qwen/qwen3", "else", None):
                await running.chat({**body(user("hi")), "model": model}, "s")
            assert [seen.json["model"] for seen in one.requests] == ["gpt-4o", "gpt-5-mini"]
            assert [seen.json["model"] for seen in two.requests] == ["qwen/qwen3"]
            assert [seen.json["model"] for seen in rest.requests] == ["else", None]
            assert two.requests[0].path == "/api/v1/chat/completions"
            sent = (await running.trajectory("s"))["turns"][1]["sent"]
            assert '"gpt-5-mini"' in sent


async def test_without_the_short_form_the_first_one_is_the_default(tmp_path: Path) -> None:
    async with upstream() as one, upstream() as two:
        several = [
            {"name": "one", "base": one.url, "models": ["a"], "dialect": "openai"},
            {"name": "two", "base": two.url, "models": ["b"], "dialect": "anthropic"},
        ]
        async with gateway(tmp_path, one, upstream=None, upstreams=several) as running:
            await running.chat({**body(user("hi")), "model": "unknown"})
            await running.http.post(f"{running.data}/v1/images/generations", json={"model": "b"})
            await running.http.post(f"{running.data}/v1/messages/count_tokens", json={"model": "b"})
        assert [seen.path for seen in one.requests] == ["/v1/chat/completions", "/v1/images/generations"]
        assert [seen.path for seen in two.requests] == ["/v1/messages/count_tokens"]


@pytest.mark.parametrize("name", sorted(DIALECTS))
async def test_each_dialect_joins_its_path_and_puts_the_key_where_it_belongs(
    tmp_path: Path, name: str
) -> None:
    places = {
        "bearer": ("authorization", "Bearer sk-of-the-upstream"),
        "api-key": ("api-key", "sk-of-the-upstream"),
        "x-api-key": ("x-api-key", "sk-of-the-upstream"),
    }
    dialect = DIALECTS[name]
    async with gateway_to(tmp_path, dialect=name, key="sk-of-the-upstream") as (app, running):
        await running.http.get(
            f"{running.data}/v1/files?x=1&key=sk-query",
            headers={"authorization": "Bearer sk-client", "x-goog-api-key": "AIza-client"},
        )
    (seen,) = app.requests
    assert seen.path == f"{dialect.join}/files?x=1"
    given = {
        field: seen.headers[field]
        for field in ("authorization", "api-key", "x-api-key", "x-goog-api-key")
        if field in seen.headers
    }
    assert given == (dict([places[dialect.auth]]) if dialect.auth != "none" else {})


async def test_a_clients_own_credential_goes_on_where_there_is_no_key(tmp_path: Path) -> None:
    async with gateway_to(tmp_path, dialect="azure", query={"api-version": "preview"}) as (app, running):
        for query in ("", "?api-version=2", "?a=%2F&key=AIza-client"):
            url = f"{running.data}/v1/files{query}"
            await running.http.get(url, headers={"x-goog-api-key": "AIza-client"})
    assert [seen.path for seen in app.requests] == [
        "/openai/v1/files?api-version=preview",
        "/openai/v1/files?api-version=2",
        "/openai/v1/files?a=%2F&key=AIza-client&api-version=preview",
    ]
    assert all(seen.headers["x-goog-api-key"] == "AIza-client" for seen in app.requests)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        (None, "set CROSSWIND_UPSTREAM_KEY to the upstream's key"),
        ("claude", "set `key_env` of the upstream 'claude' to the upstream's key"),
    ],
)
@pytest.mark.parametrize("record", ["full", "none"])
async def test_a_missing_key_is_told_once_where_the_upstream_wants_one(
    tmp_path: Path, name: str | None, fix: str, record: str
) -> None:
    async with upstream(plain({"error": "no key"}, 401)) as app:
        where: dict[str, Any] = (
            {"upstream": None, "upstreams": [{"name": name, "base": f"{app.url}/v1"}]} if name else {}
        )
        with capture_logs() as logs:
            async with gateway(tmp_path, app, record=record, **where) as running:
                await running.chat(body(user("hi")), "s", authorization="Bearer sk-of-the-client")
                assert not [one for one in logs if "without a key" in one["event"]]
                opened = (await running.api("POST", "/api/sessions", {"task_id": "t"})).json()
                key = {"authorization": f"Bearer {opened['api_key']}"}
                for _ in range(2):
                    assert (await running.chat(body(user("hi")), **key)).status_code == 401
                await running.http.get(f"{running.data}/v1/files", headers=key)
    [told] = [one for one in logs if one["event"] == "an upstream refuses requests without a key"]
    assert (told["log_level"], told["fix"]) == ("warning", fix)
    assert opened["api_key"] not in repr(logs)


async def test_a_key_that_is_refused_is_not_missing(tmp_path: Path) -> None:
    async with upstream(plain({"error": "a wrong key"}, 401)) as app:
        with capture_logs() as logs:
            async with gateway(tmp_path, app, upstream_key="sk-wrong") as running:
                opened = (await running.api("POST", "/api/sessions", {"task_id": "t"})).json()
                await running.chat(body(user("hi")), authorization=f"Bearer {opened['api_key']}")
    assert not [one for one in logs if "without a key" in one["event"]]


async def test_headers_are_held_to_the_allow_list_and_added_to(tmp_path: Path) -> None:
    rules = {"allow": ["x-stainless-*"], "add": {"X-Team": "agents"}}
    async with gateway_to(tmp_path, headers=rules) as (app, running):
        headers = {"x_stainless_lang": "python", "x_private": "1", "authorization": "Bearer k"}
        await running.chat(body(user("hi")), **headers)
    names = set(app.requests[0].headers)
    assert {"x-stainless-lang", "x-team", "authorization", "content-type", "content-length"} <= names
    assert app.requests[0].headers["x-team"] == "agents" and not names & {"x-private", "user-agent"}


async def test_a_protocol_that_no_upstream_of_the_model_speaks_is_a_501(tmp_path: Path) -> None:
    async with upstream() as app:
        one = {"name": "claude", "base": app.url, "dialect": "anthropic", "models": ["claude-*"]}
        async with gateway(tmp_path, app, upstreams=[one]) as running:
            given = await running.chat({**body(user("hi")), "model": "claude-5"}, "s")
            assert (given.status_code, given.json()["error"]["code"]) == (501, "protocol_not_supported")
            assert "'claude'" in given.json()["error"]["message"] and not app.requests
    async with gateway_to(tmp_path, dialect="openai") as (app, running):
        request = {"model": "gpt-5", "max_tokens": 1, "messages": [user("hi")]}
        given = await running.http.post(f"{running.data}/v1/messages", json=request)
        assert given.status_code == 501 and given.json()["type"] == "error" and not app.requests


async def test_the_anthropic_sdk_needs_no_version_segment_in_its_base(tmp_path: Path) -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-5",
        "content": [{"type": "text", "text": "hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    async with (
        gateway_to(tmp_path, plain(message), dialect="anthropic") as (app, running),
        anthropic.AsyncAnthropic(base_url=running.data, api_key="sk-ant-mine") as client,
    ):
        given = await client.messages.create(
            model="claude-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )
        assert given.content[0].text == "hello"  # type: ignore[union-attr]
    assert app.requests[0].path == "/v1/messages"
    assert app.requests[0].headers["authorization"] == "Bearer sk-ant-mine"


async def test_models_of_all_upstreams_are_one_list(tmp_path: Path) -> None:
    claude = {
        "data": [{"type": "model", "id": "claude-5", "display_name": "C"}, {"type": "model", "id": "other"}],
        "has_more": False,
        "first_id": "claude-5",
        "last_id": "other",
    }
    async with (
        upstream(plain(models("gpt-5", "gpt-5-mini", "o9"))) as one,
        upstream(plain(claude)) as two,
        upstream(plain(models("tiny", "gpt-5"))) as rest,
        upstream(plain(b"no json", 500)) as broken,
    ):
        several = [
            {
                "name": "one",
                "base": f"{one.url}/v1",
                "models": ["gpt-*", "fast"],
                "model_map": {"fast": "gpt-5-mini"},
                "dialect": "openai",
            },
            {"name": "two", "base": f"{two.url}/v1", "models": ["claude-*"], "dialect": "anthropic"},
            {"name": "broken", "base": f"{broken.url}/v1", "models": ["x"], "dialect": "openai"},
        ]
        async with gateway(tmp_path, rest, upstreams=several) as running:
            listed = (await running.http.get(f"{running.data}/v1/models")).json()
            assert listed["object"] == "list"
            assert [one["id"] for one in listed["data"]] == ["gpt-5", "gpt-5-mini", "fast", "tiny"]
            version = {"anthropic-version": "2023-06-01"}
            listed = (await running.http.get(f"{running.data}/v1/models", headers=version)).json()
            assert [model["id"] for model in listed["data"]] == ["claude-5", "tiny"]
            assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("claude-5", "tiny", False)
            assert two.requests[0].path == "/v1/models?limit=1000"
            assert two.requests[0].headers["anthropic-version"] == "2023-06-01"
            await running.http.get(f"{running.data}/v1/models/claude-5")
            assert two.requests[-1].path == "/v1/models/claude-5"


async def test_the_real_clients_read_the_merged_list(tmp_path: Path) -> None:
    claude = {"type": "model", "id": "claude-5", "display_name": "C", "created_at": "2026-01-01T00:00:00Z"}
    page = {"data": [claude], "has_more": False, "first_id": "claude-5", "last_id": "claude-5"}
    async with upstream(plain(models("gpt-5"))) as one, upstream(plain(page)) as two:
        several = [
            {"name": "one", "base": one.url, "models": ["gpt-*"], "dialect": "openai"},
            {"name": "two", "base": two.url, "models": ["claude-*"], "dialect": "anthropic"},
        ]
        async with gateway(tmp_path, one, upstream=None, upstreams=several) as running:
            async with openai.AsyncOpenAI(base_url=f"{running.data}/v1", api_key="k") as client:
                assert [model.id async for model in client.models.list()] == ["gpt-5"]
            async with anthropic.AsyncAnthropic(base_url=running.data, api_key="k") as other:
                assert [model.id async for model in other.models.list()] == ["claude-5"]


async def test_one_upstreams_models_keep_their_bytes(tmp_path: Path) -> None:
    raw = b' {"object":"list", "data" : [ ] }\n'
    async with upstream(plain(raw)) as app, gateway(tmp_path, app) as running:
        assert (await running.http.get(f"{running.data}/v1/models")).content == raw


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"name": "a"}, "upstream 'a': give either `base` or `replicas`"),
        ({"name": "a", "base": "http://x", "dialect": "azur"}, "did you mean 'azure'?"),
        ({"name": "a", "base": "http://me:secret@x"}, "give the credential as the key"),
        (
            {"name": "a", "base": "http://x", "modles": []},
            "unknown key 'upstreams.0.modles': did you mean 'models'?",
        ),
        ({"name": "a", "base": "http://x", "timeouts": {"conect": 1}}, "did you mean 'connect'?"),
        (
            {"name": "a", "base": "http://x", "key_env": "UNSET_HERE"},
            "the variable UNSET_HERE (key_env) is not set",
        ),
        ({"name": "default", "base": "http://x"}, "two upstreams are named 'default'"),
    ],
)
def test_a_wrong_entry_is_refused_with_the_fix(entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(None, {"upstream": "http://y", "upstreams": [entry]})
    message = str(refused.value)
    assert problem in message and "secret" not in message and "\n" not in message


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-from-there")
    one = {"name": "a", "base": "http://x", "key_env": "SOME_KEY"}
    assert load(None, {"upstreams": [one]}).upstreams[0].secret == "sk-from-there"
