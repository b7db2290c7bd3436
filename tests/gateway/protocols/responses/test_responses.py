"""OpenAI's Responses over the wire: noise stays put, nothing else moves, answers are recorded."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

from crosswind.testing.replies import plain
from tests.gateway.dialogue import PROFILE
from tests.gateway.protocols.responses import conversation as wire
from tests.gateway.protocols.responses.conversation import (
    REASONING,
    RESPONSE,
    body,
    history,
    part,
    post,
    result,
    said,
    texts,
    user,
)
from tests.gateway.proxy.test_byte_exact import HEADERS, TEXTS, random_value, seen_alike
from tests.gateway.servers import Running, gateway, upstream


async def lead(running: Running, session: str, turns: range) -> None:
    for turn in turns:
        assert (await post(running, body(history(turn + 1)), session)).status_code == 200


async def test_strings_may_become_parts_and_a_string_of_input_an_item(tmp_path: Path) -> None:
    shown = []
    for run in ("plain", "parts"):
        (tmp_path / run).mkdir()
        async with upstream(plain(RESPONSE)) as app, gateway(tmp_path / run, app, noise=PROFILE) as running:
            question = history(1)[0]["content"]
            assert (await post(running, body(question), "s")).status_code == 200
            for turn in range(1, 5):
                items = history(turn + 1) if run == "plain" else reserialised(history(turn + 1))
                request = json.dumps(body(items), indent=None if run == "plain" else 1).encode()
                assert (await post(running, request, "s")).status_code == 200
            shown.append([texts(seen.json) for seen in app.requests])
    assert shown[0] == shown[1]
    assert shown[0][0][0] == shown[0][1][0] != question


def reserialised(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As SDKs give them back: messages with their type, strings as parts, members in another order."""
    out = []
    for item in copy.deepcopy(items):
        for member in ("content", "output"):
            if isinstance(item.get(member), str):
                item[member] = [part(item[member])]
        out.append(dict(reversed(({"type": "message"} | item if "role" in item else item).items())))
    return out


async def test_what_is_no_text_of_users_or_results_is_left_alone(tmp_path: Path) -> None:
    kept: list[dict[str, Any]] = [
        {"role": "developer", "content": "You help."},
        {"type": "message", "role": "system", "content": [part("Be kind.")]},
        REASONING,
        said("Well."),
        {"type": "message", "role": "assistant", "content": "It was so."},
        {"type": "item_reference", "id": "msg_7"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {"type": "local_shell_call_output", "id": "ls_1", "output": "a file"},
        {"type": "computer_call_output", "call_id": "cc", "output": {"type": "computer_screenshot"}},
        {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "output": "as it was"},
        {"type": "unheard_of", "output": "odd", "content": "odd"},
        user({"type": "input_image", "image_url": "data:,"}, {"type": "input_file", "file_id": "file_1"}),
        result("call_9", [{"type": "input_image", "image_url": "data:,"}]),
    ]
    async with upstream(plain(RESPONSE)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        assert (await post(running, body([*kept, *history(1)]), "s")).status_code == 200
        sent = app.requests[0].json
        assert sent["input"][:-1] == kept
        assert sent["input"][-1] != history(1)[0]
        assert {**sent, "input": []} == body([])


async def test_custom_tools_results_are_tools_results(tmp_path: Path) -> None:
    made = {"type": "custom_tool_call", "call_id": "ct", "name": "get_report", "input": "W17"}
    given = {"type": "custom_tool_call_output", "call_id": "ct", "output": wire.facts("W17")}
    async with upstream(plain(RESPONSE)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await post(running, body([*history(1), made, given]), "s")
        assert app.requests[0].json["input"][1] == made
        assert app.requests[0].json["input"][2]["output"] != given["output"]
        (_, fault) = (await running.trajectory("s"))["events"]
        assert (fault["tool"], fault["anchor"]) == ("get_report", "call:ct#0")


def words(output: list[dict[str, Any]]) -> list[str]:
    """What each item of a response says."""
    return [
        item.get("arguments", "")
        + "".join(one["text"] for one in item.get("content", item.get("summary", [])))
        for item in output
    ]


def random_item(rng: random.Random) -> Any:
    kinds = ["message", "function_call", "function_call_output", "reasoning", "item_reference", None, "odd"]
    item = {
        "type": rng.choice(kinds),
        "role": rng.choice(["user", "assistant", 7]),
        "content": rng.choice([rng.choice(TEXTS), [part(rng.choice(TEXTS))], random_value(rng)]),
        "output": rng.choice([rng.choice(TEXTS), [part(rng.choice(TEXTS))], random_value(rng)]),
        "call_id": rng.choice(["a", None, 3]),
        "arguments": rng.choice(["{}", "{", None]),
    }
    return {name: value for name, value in item.items() if rng.random() < 0.7}


async def test_plain_requests_and_answers_keep_every_byte(tmp_path: Path) -> None:
    rng = random.Random(2)
    odd = [b"", b"{}", b'{"input": null}', b'{"input": 7}', b'{"input": [7]}', b'{"input": "a"', b"[]"]
    bodies = odd + [
        json.dumps(
            body(rng.choice(["hi", [], [random_item(rng) for _ in range(4)]]), extra=random_value(rng)),
            ensure_ascii=rng.random() < 0.5,
            indent=rng.choice([None, 1]),
        ).encode("utf-8", "surrogatepass")
        for _ in range(40)
    ]
    async with upstream() as app, gateway(tmp_path, app) as running:
        for sent in bodies:
            raw = rng.choice([json.dumps(RESPONSE).encode(), b"{ }", json.dumps(random_value(rng)).encode()])
            app.steps[:] = [plain(raw, rng.choice([200, 400, 429, 500]), (b"x-request-id", b"r-1"))]
            answers = [
                await running.http.post(f"{url}/v1/responses?a=b", content=sent, headers=HEADERS)
                for url in (app.url, running.data)
            ]
            seen_alike(app)
            assert answers[1].status_code == answers[0].status_code
            assert answers[1].content == answers[0].content == raw


async def test_errors_of_ours_have_the_protocols_shape(tmp_path: Path) -> None:
    async with upstream() as app, gateway(tmp_path, app, sessions="strict") as running:
        refused = await post(running, body("hi"), "unseen")
        assert refused.status_code == 404
        assert refused.json()["error"]["code"] == "session_not_found"


async def test_a_response_in_the_background_runs_without_noise(tmp_path: Path) -> None:
    queued = RESPONSE | {"status": "queued", "output": []}
    async with upstream(plain(queued)) as app, gateway(tmp_path, app, noise=PROFILE) as running:
        await lead(running, "s", range(1))
        shown = app.requests[0].json["input"]
        assert shown != history(1)
        answer = await post(running, body(history(2), background=True), "s")
        assert answer.json() == queued
        assert app.requests[1].json["input"] == [*shown, *history(2)[1:]], "history stays as it was"
        await lead(running, "s", range(2, 3))
        assert app.requests[2].json["input"][: len(history(2))] == app.requests[1].json["input"]
        stored = await running.trajectory("s")
        (event,) = [one for one in stored["events"] if one["turn_index"] == 1]
        assert event["after"] is None and "background" in event["note"]
        assert stored["turns"][1]["fitness"] == "finish_not_seen"
