"""Agents that write calls and results as text: each run is a session, and results get the tools' noise."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from crosswind.testing import Answer, Call, Dialogue
from tests.gateway.servers import Running, gateway, upstream
from tests.gateway.sessions.peers import workers

QUESTION = "Please tell me where the order W1045 is and when somebody is going to bring it to my house."
NOISE = """name: both
rules:
- {operator: user.typos, severity: 1.0}
- {operator: tool.server_error, severity: 1.0}
"""
TYPOS = "name: typos\nrules:\n- {operator: user.typos, severity: 1.0}\n"
RESULT = json.dumps({"order_id": "W1045", "status": "pending", "note": "it waits in the hall"})


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": content}]}


def said(seen: Any) -> list[str]:
    """The texts that the policy got, message by message."""
    return [
        one["content"]
        if isinstance(one["content"], str)
        else "".join(part["text"] for part in one["content"])
        for one in json.loads(seen.body)["messages"]
    ]


async def ask(running: Running, messages: list[dict[str, Any]]) -> dict[str, Any]:
    given = await running.chat({"model": "tiny", "messages": messages})
    assert given.status_code == 200, given.text
    message: dict[str, Any] = given.json()["choices"][0]["message"]
    return message


def calling() -> Any:
    numbers = iter(range(1000))
    return lambda _: Answer(None, (Call("get_order", {"order_id": "W1045"}, f"call_{next(numbers)}_of"),))


def smol_call(message: dict[str, Any]) -> dict[str, Any]:
    """What smolagents writes of an answer with calls."""
    calls = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    for call in calls:
        call.pop("index", None)
    return text("assistant", f"Calling tools:\n{calls}")


async def smol_turn(running: Running, line: list[dict[str, Any]], result: str = RESULT) -> None:
    message = await ask(running, line)
    line += [smol_call(message), text("user", f"Observation:\n{result}")]


def smol_begin() -> list[dict[str, Any]]:
    return [text("system", "You are an expert assistant."), text("user", f"New task:\n{QUESTION}")]


async def test_runs_of_smolagents_share_no_session(tmp_path: Path) -> None:
    async with upstream(calling()) as app, gateway(tmp_path, app, noise=NOISE) as running:
        lines = [smol_begin(), smol_begin()]
        for _ in range(4):
            for line in lines:
                await smol_turn(running, line)
        found = await running.sessions()
        assert len(found) == 2 and all(one["quarantine"] is None for one in found)
        for one in found:
            turns = (await running.trajectory(one["id"]))["turns"]
            assert [(turn["index"], turn["parent"]) for turn in turns] == [(0, None), (1, 0), (2, 1), (3, 2)]


async def test_tool_noise_acts_on_smolagents_observations_and_user_noise_does_not(tmp_path: Path) -> None:
    async with upstream(calling()) as app, gateway(tmp_path, app, noise=NOISE) as running:
        line = smol_begin()
        for _ in range(3):
            await smol_turn(running, line)
        first, second, third = (said(seen) for seen in app.requests)
        assert first[1] != line[1]["content"][0]["text"], "the user's own words get the user's noise"
        assert first[1].startswith("New task:\n"), "and the agent's don't"
        assert second[3].startswith("Observation:\n") and "W1045" not in second[3]
        assert third[:4] == second, "as it was shown"
        assert third[5] == f"Observation:\n{RESULT}", "made again, the call returns the truth"
        (one,) = await running.sessions()
        events = (await running.trajectory(one["id"]))["events"]
        assert {(event["operator"], event["tool"]) for event in events} >= {
            ("tool.server_error", "get_order")
        }


async def test_observations_that_cannot_be_faulted_are_said_and_left(tmp_path: Path) -> None:
    def policy(dialogue: Dialogue) -> Answer:
        number = len(dialogue.items)
        calls = [Call("cancel_order", {"order_id": "W1045"}, f"call_{number}_a")]
        return Answer(None, tuple(calls))

    async with upstream(policy) as app, gateway(tmp_path, app, noise=NOISE) as running:
        line = smol_begin()
        await smol_turn(running, line)
        line.append(text("assistant", "Let me see."))
        error = "Error:\nError executing tool 'get_order': no such order as that one.\nNow let's "
        line.append(
            text("user", error + "retry: take care not to repeat previous errors! If you have retried")
        )
        await ask(running, line)
        shown = said(app.requests[-1])
        assert shown[3] == line[3]["content"][0]["text"] and shown[5] == line[5]["content"][0]["text"]
        (one,) = await running.sessions()
        withheld = [
            event
            for event in (await running.trajectory(one["id"]))["events"]
            if event["operator"] == "tool.server_error"
        ]
        assert withheld and all(event["note"].startswith("Withheld: ") for event in withheld)


async def test_code_agents_and_first_steps_that_fail_are_followed(tmp_path: Path) -> None:
    numbers = iter(range(100))
    code = "Thought: I look it up, number {}.\n<code>\nprint(get_order('W1045'))\n"
    async with (
        upstream(lambda _: Answer(code.format(next(numbers)))) as app,
        gateway(tmp_path, app, noise=TYPOS) as running,
    ):
        lines = [smol_begin(), smol_begin()]
        for step in range(1, 4):
            for line in lines:
                own = {"name": "python_interpreter", "arguments": "print(get_order('W1045'))"}
                calls = [{"id": f"call_{step}", "type": "function", "function": own}]
                content = (await ask(running, line))["content"] + "</code>"
                line.append(text("assistant", f"{content}\nCalling tools:\n{calls}"))
                line.append(text("user", f"Observation:\nExecution logs:\n{RESULT}\nLast output:\nNone"))
        found = await running.sessions()
        assert len(found) == 2 and all(one["quarantine"] is None for one in found)
        assert [len((await running.trajectory(one["id"]))["turns"]) for one in found] == [3, 3]
        assert all(
            said(seen)[3:] == [one["content"][0]["text"] for one in line[3:6]][: len(said(seen)) - 3]
            for seen in app.requests[2:3]
        )


async def test_a_history_that_begins_with_a_request_before_is_that_ones(tmp_path: Path) -> None:
    """Of an answer that consists of failed calls smolagents' history has nothing."""
    error = "Error:\nNo such tool.\nNow let's retry: take care not to repeat previous errors!\n"
    async with upstream(calling()) as app, gateway(tmp_path, app, noise=TYPOS) as running:
        for task in ("one", "two"):
            line = [text("user", f"New task:\nTask {task}, please.")]
            for number in range(3):
                await ask(running, line)
                line += [text("assistant", ""), text("user", f"{error}{number}")]
        found = await running.sessions()
        assert len(found) == 2
        assert [len((await running.trajectory(one["id"]))["turns"]) for one in found] == [3, 3]
        assert all("not delivered here" in one["quarantine"] for one in found)


FIELDS = (
    "[[ ## question ## ]]\n{}\n\n[[ ## trajectory ## ]]\n{}Respond with the corresponding output fields, "
)
FIELDS += "starting with the field `[[ ## next_thought ## ]]`, and then ending with `[[ ## completed ## ]]`."
ANSWERED = "[[ ## next_thought ## ]]\nI look at it, number {0}.\n\n[[ ## next_tool_name ## ]]\nget_order\n\n"
ANSWERED += '[[ ## next_tool_args ## ]]\n{{"order_id": "W{0}"}}\n\n[[ ## completed ## ]]'
STEP = "[[ ## thought_{0} ## ]]\n{1}\n\n[[ ## tool_name_{0} ## ]]\nget_order\n\n"
STEP += "[[ ## tool_args_{0} ## ]]\n{2}\n\n"
STEP += "[[ ## observation_{0} ## ]]\n{3}\n\n"


def between(shown: str, start: str, end: str) -> str:
    return shown.partition(start)[2].partition(end)[0]


async def test_runs_of_dspy_share_no_session_and_its_template_stays_whole(tmp_path: Path) -> None:
    numbers = iter(range(100))
    async with (
        upstream(lambda _: Answer(ANSWERED.format(next(numbers)))) as app,
        workers(tmp_path, app, noise=NOISE) as peers,
    ):
        past = ["", ""]
        for step in range(3):
            for run in range(2):
                asked = FIELDS.format(QUESTION, past[run])
                message = {"role": "user", "content": asked}
                content = (await ask(peers[(step + run) % 2], [message]))["content"]
                shown = said(app.requests[-1])[0]
                assert shown.partition("Respond with")[2] == asked.partition("Respond with")[2]
                assert between(shown, "question ## ]]\n", "\n\n[[ ##") != QUESTION
                for before in range(step):
                    for name in ("thought", "tool_name", "tool_args"):
                        mark = f"[[ ## {name}_{before} ## ]]\n"
                        assert between(shown, mark, "[[") == between(asked, mark, "[[")
                    assert RESULT not in between(shown, f"observation_{before} ## ]]\n", "\n\n[[")
                for one in peers:
                    await one.flush()
                thought = between(content, "next_thought ## ]]\n", "\n\n[[")
                args = between(content, "next_tool_args ## ]]\n", "\n\n[[")
                past[run] += STEP.format(step, thought, args, RESULT)
        found = await peers[0].sessions()
        assert len(found) == 2 and all(one["quarantine"] is None for one in found)
        for one in found:
            turns = (await peers[0].trajectory(one["id"]))["turns"]
            assert [turn["index"] for turn in turns] == [0, 1, 2]


PROMPT = """Answer the following questions as best you can. You have access to the following tools:

get_order: look up an order and tell everything about it

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [get_order]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)

Begin!

Question: {}
Thought:{}"""


async def test_react_prompts_are_followed_and_their_observations_are_results(tmp_path: Path) -> None:
    numbers = iter(range(100))
    step = " I look at it, number {0}.\nAction: get_order\nAction Input: W{0}"
    async with (
        upstream(lambda _: Answer(step.format(next(numbers)))) as app,
        gateway(tmp_path, app, noise=NOISE) as running,
    ):
        pads = ["", ""]
        for _ in range(3):
            for run in range(2):
                asked = PROMPT.format(QUESTION, pads[run])
                content = (await ask(running, [{"role": "user", "content": asked}]))["content"]
                shown = said(app.requests[-1])[0]
                assert shown.partition("Begin!")[0] == asked.partition("Begin!")[0]
                assert between(shown, "Begin!\n\nQuestion: ", "\nThought") != QUESTION
                assert RESULT not in shown, "each observation is the result of a call of its own"
                pads[run] += f"{content}\nObservation: {RESULT}\nThought:"
        found = await running.sessions()
        assert len(found) == 2 and all(one["quarantine"] is None for one in found)
        for one in found:
            assert len((await running.trajectory(one["id"]))["turns"]) == 3


async def test_react_in_messages_of_its_own(tmp_path: Path) -> None:
    numbers = iter(range(100))
    step = "Thought: I look at it, number {0}.\nAction: get_order\nAction Input: W{0}"
    async with (
        upstream(lambda _: Answer(step.format(next(numbers)))) as app,
        gateway(tmp_path, app, noise=NOISE) as running,
    ):
        line = [{"role": "user", "content": QUESTION}]
        for _ in range(2):
            line.append(await ask(running, line))
            line.append({"role": "user", "content": f"Observation: {RESULT}"})
        shown = said(app.requests[-1])
        assert shown[2].startswith("Observation: ") and "W1045" not in shown[2]
        (one,) = await running.sessions()
        assert one["quarantine"] is None


async def test_words_that_only_look_like_a_transcript_stay_the_users(tmp_path: Path) -> None:
    seen_as = (
        "Observation: the parcel that somebody was going to bring to me yesterday has never arrived here."
    )
    async with upstream() as app, gateway(tmp_path, app, noise=TYPOS) as running:
        await ask(running, [{"role": "user", "content": seen_as}])
        assert said(app.requests[-1])[0] != seen_as
        for odd in (
            "Action: Observation:",
            "[[ ## ]]",
            "[[ ## a ## ]]",
            "Calling tools:\n[",
            "Error:\n",
            "Begin!",
        ):
            policy = {"role": "assistant", "content": odd}
            await ask(running, [{"role": "user", "content": odd}, policy, {"role": "user", "content": odd}])


async def test_runs_that_begin_together_are_told_apart(tmp_path: Path) -> None:
    async def run(running: Running) -> None:
        line = smol_begin()
        for _ in range(3):
            await smol_turn(running, line)

    async with upstream(calling()) as app, gateway(tmp_path, app, noise=NOISE) as running:
        await asyncio.gather(*(run(running) for _ in range(5)))
        found = await running.sessions()
        assert len(found) == 5 and all(one["quarantine"] is None for one in found)
