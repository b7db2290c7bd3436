"""Rewards that the trainer asks for: of a function in a process of its own, and of a judge model."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import Completion, Reward, RewardState, SessionClosed, VersionSpan
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import JudgeSettings
from crosswind.trainer.errors import RunFailed, RunRefused
from crosswind.trainer.grading.function import FunctionGrader
from crosswind.trainer.grading.grader import MOST_FAILURES, Grader, Grading
from crosswind.trainer.grading.judge import JudgeGrader
from crosswind.trainer.rollouts.groups import Admission
from crosswind.trainer.rollouts.source import GroupSource, TakenGroups
from tests.trainer.practice import CLOCK, FIRST, session, turn

VERIFIERS = "tests.trainer.grading.verifiers"
ADMISSION = Admission({FIRST: 0}, staleness=1, temperature=1.0)


def put(store: SqliteStore, group: str, *said: str, source: str | None = None) -> None:
    """A closed group of sessions that said this; with a source, each was rewarded 1 by it."""
    for index, text in enumerate(said):
        opened = session(group, index, len(said), labels={"purpose": "train"})
        done = Completion(0, (5, 6), (-0.5, -0.25), "stop", (VersionSpan(FIRST, 0, 2),))
        asked = {"messages": [{"role": "user", "content": "Which?"}], "temperature": 1.0}
        message = {"role": "assistant", "content": text}
        made = turn(
            *(opened.id, 0, [1, 2, 3], done),
            protocol="chat",
            sent=View.plain(json.dumps(asked).encode()),
            produced=View.plain(json.dumps({"choices": [{"message": message}]}).encode()),
        )
        store.write([opened, made, SessionClosed(opened.id, next(CLOCK))])
        if source is not None:
            store.write([Reward(opened.id, next(CLOCK), 1.0, {}, source)])


def take(store: SqliteStore, grader: Grader, said: list[str] | None = None) -> TakenGroups:
    heard = [] if said is None else said
    grading = Grading(store, grader, heard.append)
    taken = GroupSource(store, {}, poll_seconds=0.01, grading=grading).take(
        1, ADMISSION, Event(), wait_seconds=60
    )
    assert taken is not None
    return taken


def test_a_function_gives_the_rewards_and_where_another_source_disagrees_is_counted(
    store: SqliteStore,
) -> None:
    put(store, "g", "right", "wrong", "wrong")
    for name, reward in (("g-1", 1.0), ("g-2", 0.0)):
        store.write([Reward(name, next(CLOCK), reward, {}, "agent")])
    with closing(FunctionGrader(f"{VERIFIERS}:by_answer", 60)) as grader:
        taken = take(store, grader)
        assert taken.groups[0].rewards == [1.0, 0.0, 0.0]
        assert dict(taken.disagreements) == {"agent": 1}
        agents, given = store.rewards("g-1")
        assert (agents.source, given.source) == ("agent", f"{VERIFIERS}:by_answer")
        assert given.components == {"purpose": "train", "said": "wrong"}
        store.write([Reward("g-0", next(CLOCK), 0.0, {}, "agent")])
        Grading(store, grader, print).grade_closed(store.group("g"))
    assert store.group("g")[0].session.reward == 1.0, "the function's reward stands, whatever comes later"


def test_a_function_that_is_late_or_breaks_loses_its_session_only(store: SqliteStore) -> None:
    put(store, "g", "a", "b", "c", "d")
    said: list[str] = []
    with closing(FunctionGrader(f"{VERIFIERS}:sometimes", 2)) as grader:
        taken = take(store, grader, said)
    assert taken.groups[0].rewards == [1.0, 1.0] and taken.groups[0].left_out == ("void", "void")
    assert "no answer within 2 s (reward_deadline)" in said[0]
    assert said[1].endswith("RuntimeError: no such order")
    assert store.group("g")[0].session.reward_state is RewardState.NOT_APPLICABLE


def test_the_import_of_a_function_is_no_part_of_its_deadline(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy.py").write_text("import time\ntime.sleep(2)\ndef check(task, output): return True\n")
    monkeypatch.chdir(tmp_path)
    put(store, "g", "a")
    with closing(FunctionGrader("heavy:check", 1)) as grader:
        [given] = grader.grade(store.group("g"))
    assert (given.reward, given.note) == (1.0, "")


def test_what_a_function_prints_is_no_answer(store: SqliteStore) -> None:
    put(store, "g", "a", "b")
    with closing(FunctionGrader(f"{VERIFIERS}:talkative", 60)) as grader:
        assert [one.reward for one in grader.grade(store.group("g"))] == [1.0, 1.0]


def test_numbers_of_numpy_are_rewards_and_what_is_no_finite_number_is_none(store: SqliteStore) -> None:
    put(store, "g", *"abcdefg")
    with closing(FunctionGrader(f"{VERIFIERS}:numeric", 60)) as grader:
        grades = grader.grade(store.group("g"))
    assert [one.reward for one in grades] == [0.5, 1.0, 1.0, None, None, None, None]
    assert grades[2].components == {"f1": 0.25}
    assert grades[5].note.endswith("gave NoneType; return True, False or a number")
    assert all(one.note for one in grades[3:])


def test_a_late_function_is_ended_with_the_processes_that_it_started(store: SqliteStore) -> None:
    put(store, "g", "a")
    with closing(FunctionGrader(f"{VERIFIERS}:clinging", 1)) as grader:
        [given] = grader.grade(store.group("g"))
    assert given.note == "no answer within 1 s (reward_deadline)"


def test_a_function_whose_import_never_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunRefused, match=r"wasn't imported within 1 s \(reward_import_deadline\)"):
        FunctionGrader("endless:check", 60, 1)


def test_a_function_that_always_fails_ends_the_run(store: SqliteStore) -> None:
    put(store, "g", *["a"] * MOST_FAILURES)
    with closing(FunctionGrader(f"{VERIFIERS}:broken", 60)) as grader, pytest.raises(RunFailed) as raised:
        take(store, grader)
    assert "failed for 8 sessions in a row" in str(raised.value)
    assert "gave str; return True, False or a number" in str(raised.value)


def test_a_function_that_is_not_there_is_refused() -> None:
    with pytest.raises(RunRefused, match=r"--reward: .*nobody.* can't be imported"):
        FunctionGrader(f"{VERIFIERS}:nobody", 60)


@contextmanager
def judging(decide: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    """A model that answers so to the material that it is given; its URL/model."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = decide(json.loads(asked["messages"][-1]["content"]))
            body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/judge-1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A server that answers so; the URL/model of a judge that it might be."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with suppress(OSError):  # The client has gone.
                answer(self)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/judge-1"
        finally:
            server.shutdown()
            thread.join()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in {**headers, "content-length": str(len(body))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, and never the last."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (drip, "no answer within 1 s"),
        (lambda it: send(it, 200, b"[" * 100_000), "RecursionError"),
        (lambda it: send(it, 200, b'{"choices": "none"}'), "TypeError"),
        (lambda it: send(it, 200, b"<html>"), "JSONDecodeError"),
        (lambda it: send(it, 500), "the judge answered with status 500"),
        (
            lambda it: send(it, 302, location="http://127.0.0.1:1/elsewhere"),
            "the judge answered with status 302",
        ),
        (lambda it: send(it, 200, b"no gzip", **{"content-encoding": "gzip"}), "DecodingError"),
    ],
)
def test_a_judge_that_answers_something_else_gives_no_reward(
    answer: Callable[[BaseHTTPRequestHandler], None], note: str, store: SqliteStore
) -> None:
    put(store, "g", "right")
    with answering(answer) as model:
        [given] = JudgeGrader(JudgeSettings(model=model, timeout=1.0)).grade(store.group("g"))
    assert given.reward is None and note in given.note


def test_a_judge_that_is_nowhere_gives_no_reward(store: SqliteStore) -> None:
    put(store, "g", "right")
    [given] = JudgeGrader(JudgeSettings(model="http://127.0.0.1:1/v1/judge")).grade(store.group("g"))
    assert given.reward is None and "ConnectError" in given.note


def by_word(material: dict[str, Any]) -> str:
    said = json.loads(material["output"])[-1]["content"]
    return json.dumps({"success": said == "right", "reason": "said so"})


def test_a_judge_gives_the_rewards_with_its_prompt_on_record(store: SqliteStore) -> None:
    put(store, "g", "right", "wrong", source="verifier")
    with judging(by_word) as model:
        taken = take(store, JudgeGrader(JudgeSettings(model=model, samples=3)))
        other = JudgeGrader(JudgeSettings(model=model, rubric="Be kind."))
        [kind] = other.grade(store.group("g")[:1])
    assert taken.groups[0].rewards == [1.0, 0.0] and dict(taken.disagreements) == {"verifier": 1}
    given = store.rewards("g-0")[-1]
    assert given.source == "judge" and (given.components["yes"], given.components["no"]) == (3, 0)
    assert given.components["model"] == "judge-1" and len(given.components["prompt"]) == 16
    assert kind.components["prompt"] != given.components["prompt"]


def test_calibration_says_how_far_the_judge_agrees_and_warns(store: SqliteStore) -> None:
    with judging(by_word) as model:
        judge = JudgeGrader(JudgeSettings(model=model))
        assert "isn't calibrated" in judge.calibrate(store)
        put(store, "g", *["right"] * 10, source="verifier")
        assert (
            judge.calibrate(store)
            == "the judge agrees with the verifier on 10 of 10 sessions (1.00 [0.72, 1.00])"
        )
        put(store, "h", *["wrong"] * 2, source="verifier")
        assert "on 10 of 12 sessions (0.83 [0.55, 0.95]): below 0.9" in judge.calibrate(store)


def test_a_judge_that_is_down_ends_the_run_in_one_line(store: SqliteStore) -> None:
    put(store, "g", "right", source="verifier")
    with judging(lambda _: "I would rather not say.") as model, pytest.raises(RunFailed) as raised:
        JudgeGrader(JudgeSettings(model=model)).calibrate(store)
    assert "gives no usable answer: 1 of 1 answers unusable: no verdict in" in str(raised.value)


@pytest.mark.parametrize("model", ["gpt", "http://127.0.0.1:99999/v1/judge", "http://[::/v1/judge"])
def test_a_judge_that_is_no_url_with_a_model_is_refused(model: str) -> None:
    with pytest.raises(RunRefused, match=rf"judge\.model: '{re.escape(model)}' is no URL/model"):
        JudgeGrader(JudgeSettings(model=model))
