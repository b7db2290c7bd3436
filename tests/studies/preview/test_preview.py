"""A conversation in a file is read as a gateway reads the body that it was, in each protocol's shape: the
noise that a preview shows is the noise that a session met.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import asdict

from crosswind.gateway.cli import root
from crosswind.gateway.trajectory.store import open_store
from crosswind.studies.conversations import read_conversation
from crosswind.testing.replies import plain
from tests.gateway import dialogue
from tests.gateway.noise.test_system_prompt import PROFILE as DIFFICULT
from tests.gateway.noise.test_system_prompt import TOLD
from tests.gateway.protocols.messages import conversation as messages
from tests.gateway.protocols.responses import conversation as responses
from tests.gateway.servers import Running, answer, gateway, upstream
from tests.injectors.dialogues import TOOLS, order_desk


def preview(*arguments: object, **environment: str) -> Result:
    environment.setdefault("COLUMNS", "200")
    return CliRunner().invoke(root, ["noise", "preview", *map(str, arguments)], env=environment)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": order_desk(), "tools": TOOLS}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "arguments,words",
    [
        (
            ["noisyagent", "--type", "tool.timeout", "--seed", 1],
            ["get_order (read_only)", "before", "after", "timed out", "Solvable: the same call made again"],
        ),
        (["chaos/brownout"], ["delay_ms"]),
        (["robustbench-tc/MisDesc-Abbr"], ["tool get_order (read_only)", "get_ord", "another declared tool"]),
        (["chaos/provider-outage", "--seed", 3], ["answer 2", '"where": "instead"']),
        (["off"], ["there is no rule"]),
    ],
)
def test_preview_shows_before_after_and_why(arguments: list[object], words: list[str], chat: Path) -> None:
    result = preview("--profile", *arguments, chat)
    assert result.exit_code == 0
    assert [one for one in words if one not in result.output] == []


def test_preview_shows_the_whole_conversation_with_each_event_in_its_place(chat: Path) -> None:
    output = preview("--profile", "noisyagent", "--type", "tool.timeout", "--seed", 1, chat).output
    lines = [line for line in output.splitlines() if line.startswith("[")]
    assert lines == [f"[{at}] {message['role']}" for at, message in enumerate(order_desk())]
    assert 'calls get_order({"order_id": "#W2378156"})' in output
    event = output.index("tool.timeout at severity")
    number = int(output[event:].partition("message ")[2].partition(",")[0])
    assert output.index(f"[{number}] tool") < event < output.index(f"[{number + 1}] assistant")


def test_preview_is_in_colour_on_a_terminal(chat: Path) -> None:
    output = preview("--profile", "robustbench-tc/Timeout", chat, FORCE_COLOR="1", TERM="xterm").output
    assert "\x1b[31m" in output and "\x1b[1;32m" in output


SPOKEN = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    "document,protocol",
    [
        ([SPOKEN], "chat"),
        (dialogue.body(*dialogue.history(2)), "chat"),
        (dialogue.history(2), "chat"),
        ({"system": "Be kind.", "messages": [SPOKEN]}, "messages"),
        (messages.body(*messages.history(2)), "messages"),
        (messages.history(2), "messages"),
        ({"input": "Hello"}, "responses"),
        (responses.body(responses.history(2)), "responses"),
        (responses.history(2), "responses"),
    ],
)
def test_the_protocol_of_a_file_is_found(tmp_path: Path, document: Any, protocol: str) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(document))
    codec, _ = read_conversation(tmp_path / "talk.json")
    assert codec.name == protocol


@pytest.mark.parametrize(
    "member,document", [("system", {"messages": [SPOKEN]}), ("instructions", {"input": [SPOKEN]})]
)
def test_a_system_prompt_that_is_no_message_is_shown_first(
    tmp_path: Path, member: str, document: Any
) -> None:
    (tmp_path / "difficult.yaml").write_text(DIFFICULT)
    (tmp_path / "talk.json").write_text(json.dumps({member: TOLD, **document}))
    output = preview("--profile", tmp_path / "difficult.yaml", tmp_path / "talk.json").output
    places = [output.index(words) for words in ("[system]", "user.interaction_pattern at", "[0] user")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "document,words",
    [
        ("{", "not JSON"),
        ("3", "expected a list of messages"),
        ('[{"content": "hi"}]', "messages[0] has no `role`"),
        ('{"messages": [], "tools": 3}', "`tools` is no list"),
        ("[]", 'there is no message; write {"role": "user", "content": "…"}, say'),
        ('[{"role": "usr", "content": "x"}]', "messages[0].role: 'usr' is no role; did you mean 'user'?"),
        ('[{"role": "user", "content": 7}]', "messages[0].content: 7 is neither a text nor a list of parts"),
        ('[{"role": "user"}]', "messages[0].content: None is neither"),
        ('{"input": 3}', "expected a list of messages"),
        ('{"input": [3]}', "expected a list of messages"),
    ],
)
def test_a_bad_conversation_is_one_line_on_stderr_and_exit_code_2(
    tmp_path: Path, document: str, words: str
) -> None:
    (tmp_path / "chat.json").write_text(document)
    result = preview("--profile", "everything", tmp_path / "chat.json")
    assert result.exit_code == 2
    assert words in result.stderr and len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "document",
    [
        '[{"role": "assistant", "tool_calls": ["x", {"function": 3}]}]',
        '[{"role": "user", "content": [3, {"text": 4}]}]',
        '{"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}',
        '{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": 3}]}]}',
        '{"input": [{"type": "function_call"}, {"type": [1]}, {"id": "msg_1"}], "tools": [3]}',
    ],
)
def test_odd_conversations_are_borne(tmp_path: Path, document: str) -> None:
    (tmp_path / "chat.json").write_text(document)
    assert preview("--profile", "everything", tmp_path / "chat.json").exit_code == 0


@pytest.mark.parametrize("operator", ["user.ambiguous", "user.inconsistent", "schema.misleading_time"])
def test_an_operator_that_needs_tools_says_so_where_none_are_declared(tmp_path: Path, operator: str) -> None:
    profile, chat = tmp_path / "one.yaml", tmp_path / "chat.json"
    profile.write_text(f"name: one\nrules: [{{operator: {operator}, severity: 1.0}}]\n")
    chat.write_text(json.dumps(order_desk()))
    for seeds in (1, 40):
        shown = preview("--profile", profile, "--seeds", seeds, chat).output
        assert f"No draw of {max(seeds, 30)} seeds gives noise here." in shown
        assert f"{operator} needs declared tools, and CONVERSATION has none" in shown
    chat.write_text(json.dumps({"messages": order_desk(), "tools": TOOLS}))
    assert "needs declared tools" not in preview("--profile", profile, chat).output


def test_a_seed_that_gives_noise_is_named(tmp_path: Path, chat: Path) -> None:
    profile = tmp_path / "rare.yaml"
    rule = "{operator: user.typos, severity: 0.1, when: {probability: 0.1}}"
    profile.write_text(f"name: rare\nrules: [{rule}]\n")
    [line] = [one for one in preview("--profile", profile, chat).output.splitlines() if "gives noise" in one]
    shown = preview("--profile", profile, "--seed", line.split()[1], chat).output
    assert "gives noise" not in shown and "user.typos: eligible" in shown and "injected 0" not in shown


PROFILE = "name: many\nbounds: {faults_per_call: 2, faults_per_session: 100}\nrules:\n" + "".join(
    f"  - {{operator: {name}, severity: {severity}}}\n"
    for name, severity in {
        "user.typos": 0.6,
        "user.redundant": 0.9,
        "user.inconsistent": 0.5,
        "schema.paraphrase_tool": 0.9,
        "schema.reorder": 0.5,
        "schema.redundant_tool": 0.5,
        "tool.timeout": 0.3,
        "tool.misleading": 0.9,
        "state.irrelevant": 0.2,
        "model.overloaded": 0.5,
        "model.length_cut": 0.4,
        "transport.latency": 0.005,
        "transport.status": 0.3,
    }.items()
)
TEXT = {"type": "text", "text": "All is well, it is on its way to you."}
MESSAGE = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [TEXT]},
    **{"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}},
}


async def _chat(running: Running, turn: int, **headers: str) -> Any:
    return await running.chat(dialogue.body(*dialogue.history(turn)), "preview", **headers)


async def _messages(running: Running, turn: int, **headers: str) -> Any:
    return await messages.post(running, messages.body(*messages.history(turn)), "preview", **headers)


async def _responses(running: Running, turn: int, **headers: str) -> Any:
    body = responses.body(responses.history(turn), store=False)
    return await responses.post(running, body, "preview", **headers)


@pytest.mark.parametrize(
    "post,reply,last",
    [
        (_chat, answer("All is well."), lambda: dialogue.body(*dialogue.history(5), {"role": "assistant"})),
        (_messages, MESSAGE, lambda: messages.body(*messages.history(5), messages.policy())),
        (
            _responses,
            responses.response(1, responses.said("All is well, it is on its way to you.")),
            lambda: responses.body([*responses.history(5), responses.said("All is well.")]),
        ),
    ],
    ids=["chat", "messages", "responses"],
)
async def test_a_preview_shows_what_a_session_meets_in_each_protocol(
    tmp_path: Path, post: Callable[..., Awaitable[Any]], reply: Any, last: Callable[[], Any]
) -> None:
    profile, talk = tmp_path / "many.yaml", tmp_path / "talk.json"
    profile.write_text(PROFILE)
    async with upstream(plain(reply)) as app, gateway(tmp_path, app, profile=str(profile), seed=5) as running:
        for turn in range(1, 6):
            for attempt in range(9):
                given_back = await post(running, turn, **{"x-stainless-retry-count": str(attempt)})
                if given_back.status_code == 200:
                    break
            assert given_back.status_code == 200
        await running.flush()
    with closing(open_store(f"sqlite:///{tmp_path}/store.db", create=False)) as store:
        events = [asdict(event) for event in store.events("preview")]
    talk.write_text(json.dumps(last()))
    shown = preview("--json", "--profile", profile, "--seed", 5, talk)
    assert shown.exit_code == 0, shown.output
    previewed = {one["decision"]["slot"]: one for one in map(json.loads, shown.stdout.splitlines())}
    recorded = {one["slot"]: one for one in events if one["attempt"] == 0}
    sites = {one["site"] for one in recorded.values() if one["after"] is not None}
    assert sites == {"user_text", "tool_schema", "tool_result", "transport", "model_response"}
    assert set(previewed) == set(recorded)
    for slot, one in previewed.items():
        event, decision = recorded[slot], one["decision"]
        for told in ("operator", "anchor", "logical_call", "severity", "draw", "recovery"):
            assert decision[told] == event[told], (slot, told)
        after = event["after"]
        if event["note"] == "Withheld: another fault had ended the exchange.":
            continue  # A preview can't know how the exchange went on.
        if decision["site"] in ("transport", "model_response") and after is not None:
            after = json.dumps(json.loads(after))
        assert one["after"] == after, slot


def test_several_seeds_are_shown_one_after_another_and_counted_together(chat: Path) -> None:
    profile = ["--profile", "chaos/confused-users"]
    result = preview(*profile, "--seeds", 5, "--seed", 2, chat)
    assert result.exit_code == 0
    assert [line for line in result.output.splitlines() if line.startswith("seed ")] == [
        f"seed {number}" for number in range(2, 7)
    ]
    events = [
        json.loads(line)
        for line in preview("--json", *profile, "--seeds", 5, "--seed", 2, chat).output.splitlines()
    ]
    alone = [json.loads(line) for line in preview("--json", *profile, "--seed", 4, chat).output.splitlines()]
    assert [one for one in events if one["seed"] == 4] == alone
    injected = {one["seed"] for one in events if one["after"] is not None}
    assert f"exposed under {len(injected)} of 5 seeds" in result.output
    of_typos = [
        one for one in events if one["decision"]["operator"] == "user.typos" and one["after"] is not None
    ]
    assert (
        f"user.typos: acts under {len({one['seed'] for one in of_typos})}, injected {len(of_typos)},"
        in result.output
    )


def test_a_tool_that_the_conversation_does_not_have_is_refused_by_line(tmp_path: Path, chat: Path) -> None:
    profile = tmp_path / "mine.yaml"
    rule = "- {operator: tool.timeout, severity: 1, where: {tools: [%s]}}"
    for named, refused in (("get_order", False), ("get_*", False), ("get_ordr", True), ("fetch_*", True)):
        profile.write_text(f"name: mine\nrules:\n{rule % named}\n")
        result = preview("--profile", profile, chat)
        assert result.exit_code == (2 if refused else 0), result.output
        if refused:
            assert f"{profile}:3: rules[0].where.tools[0]: {named!r}" in result.stderr


def test_only_what_noise_changed_is_shown_where_that_is_asked_for(tmp_path: Path, chat: Path) -> None:
    profile = tmp_path / "mine.yaml"
    rules = [
        {"operator": "user.typos", "severity": 0.2},
        {"operator": "tool.timeout", "severity": 0.5},
        {"operator": "tool.execution_failure", "severity": 0.5},
    ]
    profile.write_text(json.dumps({"name": "mine", "rules": rules}))
    asked = ["--profile", profile, "--seeds", 20, chat]
    events = [json.loads(line) for line in preview("--json", *asked).output.splitlines()]
    changed = [one for one in events if one["after"] is not None]
    assert 0 < len(changed) < len(events), "some is withheld"
    told = preview("--json", "--only-changed", *asked).output.splitlines()
    assert [json.loads(line) for line in told] == changed
    several = preview("--only-changed", *asked).output
    assert "  clean  " not in several and several.count(" at severity ") == len(changed)
    seed = changed[0]["seed"]
    alone = preview("--profile", profile, "--seed", seed, "--only-changed", chat).output
    assert "[0] " not in alone and " at severity " in alone and "withheld" in alone


def test_what_a_profile_assumes_of_tools_counts_only_where_a_gateway_believes_it(tmp_path: Path) -> None:
    profile, chat = tmp_path / "mine.yaml", tmp_path / "chat.json"
    profile.write_text(
        "name: mine\nassume_tools: replayable\nrules: [{operator: tool.timeout, severity: 1}]\n"
    )
    call = {"id": "c", "type": "function", "function": {"name": "book_flight", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "content": '{"booking": "LM-19"}'}
    chat.write_text(json.dumps([{"role": "user", "content": "Book it."}, asks, result]))
    plain = preview("--profile", profile, chat).output
    assert "injected 0, withheld 1" in plain and "with --assume-replayable only" in plain
    believed = preview("--profile", profile, "--assume-replayable", chat).output
    assert "injected 1, withheld 0" in believed and "serve --assume-replayable" in believed


@pytest.mark.parametrize("seeds", [0, -1, 1001, 10**20])
def test_a_number_of_seeds_that_can_not_be_drawn_is_refused(chat: Path, seeds: int) -> None:
    result = preview("--profile", "chaos/confused-users", f"--seeds={seeds}", chat)
    assert result.exit_code == 2 and "--seeds" in result.output
