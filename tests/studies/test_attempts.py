"""A store read into attempts: outcomes, what is void, faults, and what the agent did after each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosswind.figures.attempts import Arm, Attempt, ErrorMode, Reaction, Void
from crosswind.figures.figures import measure
from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.fitness import Source
from crosswind.gateway.trajectory.record import Reward, Row, SessionMarked, Turn, TurnFailure
from crosswind.gateway.trajectory.store import Store, open_store
from crosswind.injectors.identity import logical_call
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.components import kind_of
from crosswind.studies.fault_words import has_new_value
from tests.gateway.trajectory import rows

CALL = ("get_order", '{"id": "W17"}')
OTHER = ("list_orders", "{}")
FAULT = '{"error": "timed out"}'
Said = tuple[str, str] | str


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 'crosswind.db'}")) as opened:
        yield opened


def message(said: Said, number: int) -> dict[str, Any]:
    if isinstance(said, str):
        return {"role": "assistant", "content": said}
    function = {"name": said[0], "arguments": said[1]}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def play(session: str, answers: list[Said], results: list[str], **given: Any) -> list[Row]:
    """A chat session: each call of the agent gets the next result."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "Where is W17?"}]
    turns: list[Row] = [rows.session(session, **given)]
    left = iter(results)
    for number, said in enumerate(answers):
        asked = View.plain(json.dumps({"messages": history, "tools": [TOOL]}).encode())
        answer = message(said, number)
        produced = View.plain(json.dumps({"choices": [{"message": answer}]}).encode())
        turns.append(rows.turn(session, number, received=asked, sent=asked, produced=produced))
        history = [*history, answer]
        if not isinstance(said, str):
            history.append({"role": "tool", "tool_call_id": f"c{number}", "content": next(left)})
    return turns


TOOL = {"type": "function", "function": {"name": "get_order", "parameters": {"type": "object"}}}


def fault(session: str, turn: int, ordinal: int = 0, **given: Any) -> Row:
    return rows.event(session, turn, ordinal, logical_call=logical_call(*CALL), after=FAULT, **given)


def noisy(session: str, **given: Any) -> dict[str, Any]:
    plan = {"profile": "p", "rules": [{"operator": "tool.timeout"}]}
    return {"arm": Arm.NOISY, "plan": plan, "task_id": "t", **given}


def only(store: Store) -> Attempt:
    (attempt,) = read_attempts(store).attempts
    return attempt


@pytest.mark.parametrize(
    ("answers", "results", "reaction", "recovered", "turns"),
    [
        ([CALL, CALL, "It is shipped."], [FAULT, '{"status": "shipped"}'], Reaction.RETRIED, True, 1),
        (
            [CALL, OTHER, "It is shipped."],
            [FAULT, '{"status": "shipped"}'],
            Reaction.WORKED_AROUND,
            False,
            None,
        ),
        ([CALL, "It arrives on 2026-03-14."], [FAULT], Reaction.INVENTED, False, None),
        ([CALL, "W17 could not be read: it timed out."], [FAULT], Reaction.NOTICED, False, None),
        ([CALL, "Done."], [FAULT], Reaction.GAVE_UP, False, None),
        ([CALL, CALL, CALL, CALL], [FAULT] * 4, Reaction.LOOPED, False, None),
    ],
)
def test_what_the_agent_did_after_a_fault(
    store: Store,
    answers: list[Said],
    results: list[str],
    reaction: Reaction,
    recovered: bool,
    turns: int | None,
) -> None:
    store.write(play("s", answers, results, **noisy("s")))
    struck = [number + 1 for number, result in enumerate(results) if result == FAULT]
    store.write([fault("s", turn) for turn in struck])
    first = only(store).faults[0]
    assert (first.reaction, first.recovered, first.turns_to_recover) == (reaction, recovered, turns)
    assert (first.tool, first.turn, first.leg, first.kind) == ("get_order", 1, "model", "tool")


def test_a_retry_that_is_struck_again_recovers_later(store: Store) -> None:
    store.write(play("s", [CALL, CALL, CALL, "ok"], [FAULT, FAULT, '{"status": "shipped"}'], **noisy("s")))
    store.write([fault("s", 1), fault("s", 2)])
    assert [(one.recovered, one.turns_to_recover) for one in only(store).faults] == [(True, 2), (True, 1)]


def test_noise_that_takes_nothing_away_asks_for_no_reaction(store: Store) -> None:
    store.write(play("s", ["Hello."], [], **noisy("s")))
    store.write([rows.event("s", 0, operator="user.typos", site="user_text", recovery="none_needed")])
    (typos,) = only(store).faults
    assert (typos.reaction, typos.recovered) == (None, None)


@pytest.mark.parametrize(
    ("answers", "mode"),
    [
        ([""], ErrorMode.EMPTY),
        (["It is shipped."], ErrorMode.OMITTED),
        ([CALL, CALL, CALL, "It is shipped."], ErrorMode.LOOP),
        ([CALL, "It is shipped."], ErrorMode.OTHER),
    ],
)
def test_how_a_failed_attempt_failed(store: Store, answers: list[Said], mode: ErrorMode) -> None:
    store.write([*play("s", answers, ["{}"] * 3), Reward("s", 1, 0.0)])
    assert only(store).error_mode is mode


def test_calls_that_a_solved_attempt_made_and_this_one_did_not_are_wrong_calls(store: Store) -> None:
    store.write([*play("calm", [CALL, "ok"], ["{}"], task_id="t"), Reward("calm", 1, 1.0)])
    store.write([*play("s", [OTHER, "ok"], ["{}"], **noisy("s")), Reward("s", 1, 0.0)])
    assert [one.error_mode for one in read_attempts(store).attempts] == [None, ErrorMode.WRONG_CALL]


def test_failures_of_the_infrastructure_are_void_and_those_it_got_over_are_not(store: Store) -> None:
    def turn(session: str, attempt: int, source: Source | None, status: int) -> Turn:
        error = None if source is None else TurnFailure(source, "http")
        return rows.turn(session, 0, attempt=attempt, error=error, upstream_status=status)

    store.write(
        [
            rows.session("down"),
            turn("down", 0, Source.UPSTREAM, 503),
            rows.session("ours"),
            turn("ours", 0, Source.OURS, 0),
            rows.session("over"),
            turn("over", 0, Source.UPSTREAM, 503),
            turn("over", 1, None, 200),
            rows.session("refused"),
            turn("refused", 0, Source.UPSTREAM, 400),
            rows.session("injected"),
            turn("injected", 0, Source.INJECTED, 503),
            rows.session("judged"),
            SessionMarked("judged", labels={"void": "judge: it answered nonsense"}),
            rows.session("said"),
            SessionMarked("said", labels={"void": "APITimeoutError"}),
        ]
    )
    found = {one.sessions[0]: (one.void, one.note) for one in read_attempts(store).attempts}
    assert found == {
        "down": (Void.UPSTREAM, ""),
        "ours": (Void.GATEWAY, ""),
        "over": (None, ""),
        "refused": (None, ""),
        "injected": (None, ""),
        "judged": (Void.JUDGE, "it answered nonsense"),
        "said": (Void.INFRASTRUCTURE, "APITimeoutError"),
    }


def test_tasks_samples_and_arms_come_from_the_session_or_its_labels(store: Store) -> None:
    store.write(
        [
            rows.session("a", task_id="t", rollout_index=3),
            rows.session("b", labels={"task": "t", "sample": 4, "arm": "noisy", "run": "r"}),
            rows.session("c", task_id="u"),
            rows.session("d", task_id="u"),
            rows.session("e"),
            Reward("a", 1, 10.0),
            Reward("b", 1, -1.0),
            Reward("c", 1, 0.5),
        ]
    )
    found = [(one.task, one.sample, one.arm.value, one.success) for one in read_attempts(store).attempts]
    assert found == [
        ("t", 3, "clean", 1.0),
        ("t", 4, "noisy", 0.0),
        ("u", 0, "clean", 0.5),
        ("u", 1, "clean", None),
        ("e", 0, "clean", None),
    ]
    assert [one.sessions for one in read_attempts(store, with_labels({"run": "r"})).attempts] == [("b",)]
    arms = {Arm.CLEAN: with_labels({"run": "r"})}
    assert [one.arm for one in read_attempts(store, arms=arms).attempts] == [Arm.CLEAN]


def test_withheld_noise_and_requests_without_noise_keep_their_reasons(store: Store) -> None:
    store.write(play("s", [CALL, "ok"], ["{}"], **noisy("s")))
    store.write([fault("s", 1, 0, note="Withheld: unknown class.")])
    store.write([rows.event("s", 1, 1, after=None, note="Withheld: unknown class.")])
    store.write(
        [rows.event("s", 0, 0, operator="", slot="", after=None, tool=None, note="No noise: spared.")]
    )
    found = only(store)
    assert [(one.operator, one.reason, one.count) for one in found.withheld] == [
        ("tool.timeout", "Withheld: unknown class.", 1)
    ]
    assert found.no_noise == ("No noise: spared.",)
    assert found.assigned == ("tool.timeout",)


def test_more_sessions_than_are_read_in_full_have_no_reactions(store: Store) -> None:
    for number in range(4):
        name = f"s{number}"
        store.write(play(name, [CALL, "Done."], [FAULT], **noisy(name, task_id=name)))
        store.write([fault(name, 1)])
    found = read_attempts(store, read_in_full=2)
    assert (found.read, found.whole) == (2, False)
    assert sum(one.faults[0].reaction is None for one in found.attempts) == 2
    assert sum(one.tool_calls is None for one in found.attempts) == 2
    assert read_attempts(store, read_in_full=2) == found


def test_who_solves_the_task_without_what_was_lost_has_not_given_up(store: Store) -> None:
    store.write([*play("s", [CALL, "Done."], [FAULT], **noisy("s")), Reward("s", 1, 1.0)])
    store.write([fault("s", 1)])
    (needless,) = only(store).faults
    assert (needless.reaction, needless.recovered) == (None, None)


def test_a_fault_on_a_tool_leg_belongs_to_the_turn_that_brings_its_result(store: Store) -> None:
    store.write(play("s", [CALL, CALL, "It is shipped."], [FAULT, '{"status": "shipped"}'], **noisy("s")))
    # Turn n was recorded n microseconds after the first: the fault came between turns 0 and 1.
    at = 1_700_000_000_000_001
    store.write([fault("s", -1, anchor="wire:1", created_us=at, draw={"link": "orders"})])
    (found,) = only(store).faults
    assert (found.leg, found.turn, found.stage) == ("orders", 1, 1)
    assert (found.reaction, found.recovered, found.turns_to_recover) == (Reaction.RETRIED, True, 1)
    (unread,) = read_attempts(store, read_in_full=0).attempts[0].faults
    assert (unread.leg, unread.turn, unread.stage) == ("orders", -1, None)


def test_other_protocols_are_read_alike(store: Store) -> None:
    """Messages, with a tool's result in a user's message, and the same call again."""
    use = {"type": "tool_use", "id": "u0", "name": CALL[0], "input": json.loads(CALL[1])}
    result = {"type": "tool_result", "tool_use_id": "u0", "content": FAULT}
    history: list[Any] = [{"role": "user", "content": "Where is W17?"}]
    written: list[Row] = [rows.session("s", **noisy("s"))]
    for number, content in enumerate(([use], [{**use, "id": "u1"}], [{"type": "text", "text": "ok"}])):
        asked = View.plain(json.dumps({"messages": history, "max_tokens": 9}).encode())
        said = View.plain(json.dumps({"role": "assistant", "content": content}).encode())
        views = {"received": asked, "sent": asked, "produced": said}
        written.append(rows.turn("s", number, protocol="messages", **views))
        answered = {**result, "tool_use_id": f"u{number}"}
        history = [*history, {"role": "assistant", "content": content}]
        history.append({"role": "user", "content": [answered]})
    store.write([*written, fault("s", 1)])
    found = only(store)
    assert found.tool_calls == 2
    assert (found.faults[0].reaction, found.faults[0].recovered) == (Reaction.RETRIED, True)


def test_a_rule_for_a_tool_that_the_agent_does_not_have_found_no_place(store: Store) -> None:
    rules = [{"operator": "tool.timeout", "tools": ["send_*"]}]
    given = {"arm": Arm.NOISY, "plan": {"profile": "p", "rules": rules}}
    store.write([*play("s", [CALL, "Done."], ["{}"], task_id="t", **given), Reward("s", 1, 1.0)])
    figures = measure(read_attempts(store).attempts, kind_of)
    assert figures.drop.because == "nothing could be injected, because there was no place that it acts at"
    rules[0]["tools"] = ["get_*"]
    store.write([*play("s2", [CALL, "Done."], ["{}"], task_id="u", **given), Reward("s2", 1, 1.0)])
    figures = measure(read_attempts(store, with_labels({})).attempts, kind_of)
    assert "no draw fell" in figures.drop.because


@pytest.mark.parametrize(
    ("said", "reaction"),
    [
        ("Die Bestellung konnte ich leider nicht lesen.", Reaction.NOTICED),
        ("No pude leer el pedido.", Reaction.NOTICED),
        ("Je n'ai pas pu lire la commande W17.", Reaction.NOTICED),
        ("抱歉，订单W17无法读取。", Reaction.NOTICED),
        ("申し訳ありません。注文W17を読めませんでした。", Reaction.NOTICED),
        ("تعذر قراءة الطلب W17.", Reaction.NOTICED),
        ("Die Bestellung ist unterwegs.", Reaction.GAVE_UP),
        ("订单W17已发货。", Reaction.GAVE_UP),
        ("Zamówienie nie mogło zostać odczytane, ponieważ usługa nie odpowiada.", None),
        ("Zamówienie W17 dotrze 2026-03-14.", Reaction.INVENTED),
        ("订单将于٣٤٥٦号到达。", Reaction.INVENTED),
        ("It takes 12 days.", Reaction.GAVE_UP),
    ],
)
def test_what_the_agent_says_is_read_in_several_languages(
    store: Store, said: str, reaction: Reaction | None
) -> None:
    store.write([*play("s", [CALL, said], [FAULT], **noisy("s")), fault("s", 1)])
    first = only(store).faults[0]
    assert (first.reaction, first.recovered) == (reaction, False)


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("It comes on 14.03.2026 and costs 1.234,50 €.", False),
        ("It comes on 3/14/2026 and costs $1,234.5.", False),
        ("It comes on 15.03.2026.", True),
        ("It costs 1.234,60 €.", True),
        ("Order W18 is shipped.", True),
    ],
)
def test_a_value_is_the_same_however_it_is_written(said: str, new: bool) -> None:
    assert has_new_value(said, '{"id": "W17", "due": "2026-03-14", "total": 1234.5}') is new
