"""What an attempt is worth: exit status, JSON line, expectation, checker, function, judge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from crosswind.figures.attempts import Void
from crosswind.studies.chaos.tasks import read_tasks
from crosswind.studies.chaos.verdicts import read_verdict
from crosswind.testing import Answer, ProviderError, ScriptedProvider
from crosswind.testing.dialogue import Step
from crosswind.verdicts.judge import find_judge_key
from tests.studies.chaos.conftest import AGENT, Chaos

TASKS = [
    {"id": f"t{n}", "prompt": f"Which gate does this flight leave from? HA-{n}", "gate": f"B{n}"}
    for n in (1, 2)
]
CHECKS = "tests.studies.chaos.checks"


@pytest.fixture
def play(play: Chaos) -> Chaos:
    """Over tasks that expect nothing."""
    play.tasks = TASKS
    return play


def results(play: Chaos) -> set[tuple[str, float | None, Void | None]]:
    return {(one.task, one.success, one.void) for one in play.attempts()}


def test_exit_status_0_is_success_where_nothing_else_is_said(play: Chaos) -> None:
    assert play().exit_code == 0
    assert results(play) == {("t1", 1.0, None), ("t2", 1.0, None)}


def test_the_agents_own_json_line_counts(play: Chaos) -> None:
    assert play(agent=(*AGENT, "json")).exit_code == 0
    assert results(play) == {("t1", 1.0, None), ("t2", 0.0, None)}
    assert "only the first one is mine" in {one.note for one in play.attempts()}


@pytest.mark.parametrize(
    ("function", "wanted", "said"),
    [
        ("has_gate", {("t1", 1.0, None), ("t2", 1.0, None)}, ""),
        ("half", {("t1", 0.5, None), ("t2", 0.5, None)}, ""),
        ("raises", {("t1", None, Void.CHECKER), ("t2", None, Void.CHECKER)}, "KeyError: 'no such gate'"),
        ("says_nothing", {("t1", None, Void.CHECKER), ("t2", None, Void.CHECKER)}, "gave NoneType"),
        ("hangs", {("t1", None, Void.CHECKER), ("t2", None, Void.CHECKER)}, "did not end in time"),
        ("nowhere", {("t1", None, Void.CHECKER), ("t2", None, Void.CHECKER)}, "can't be imported"),
    ],
)
def test_a_function_decides_in_a_process_of_its_own(
    play: Chaos, function: str, wanted: set[tuple[str, float | None, Void | None]], said: str
) -> None:
    deadline = "1.5" if function == "hangs" else "60"
    done = play("--verify", f"{CHECKS}:{function}", "--check-timeout", deadline, "--retries", "0")
    assert done.exit_code == (3 if any(void for _, _, void in wanted) else 0), done.output
    assert results(play) == wanted
    assert said in done.stderr


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (
            "import sys, json; sys.exit(json.load(sys.stdin)['task']['gate'] != 'B1')",
            {(1.0, None), (0.0, None)},
        ),
        ("print('{\"success\": false}')", {(0.0, None)}),
        ("raise SystemExit(2)", {(None, Void.CHECKER)}),
        ("raise ValueError('broken')", {(None, Void.CHECKER)}),
        ('print(\'{"success": "maybe"}\')', {(1.0, None)}),
    ],
)
def test_a_checker_decides_or_has_failed_itself(
    play: Chaos, tmp_path: Path, script: str, wanted: set[tuple[float | None, Void | None]]
) -> None:
    file = tmp_path / "check.py"
    file.write_text(script)
    done = play("--checker", f"{sys.executable} {file}", "--retries", "0")
    assert done.exit_code == (3 if (None, Void.CHECKER) in wanted else 0), done.output
    assert {(success, void) for _, success, void in results(play)} == wanted


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        (['{"success": true, "reason": "the gate is there {B1}"}'], (1.0, None)),
        (['```json\n{"success": false, "reason": "no"}\n```'], (0.0, None)),
        (["I would rather not say.", '{"success": true}'], (1.0, None)),
        (["Nonsense."], (None, Void.JUDGE)),
    ],
)
def test_a_judge_model_decides_and_nonsense_is_its_failure(
    play: Chaos, answers: Sequence[str], wanted: tuple[float | None, Void | None]
) -> None:
    play.tasks = TASKS[:1]
    script: list[Step] = [Answer(one) for one in answers]
    with ScriptedProvider(*script, strict=False) as judge:
        done = play(
            *("--judge", f"{judge.base_url}/judge-1", "--judge-samples", "1"),
            *("--retries", "0", "--concurrency", "1"),
        )
        assert done.exit_code == (3 if wanted[1] else 0), done.output
        assert {request.json["model"] for request in judge.requests} == {"judge-1"}
        assert "B1" in judge.requests[0].json["messages"][1]["content"]
    assert {(success, void) for _, success, void in results(play)} == {wanted}


def test_a_judge_that_fails_is_told_by_its_status(play: Chaos) -> None:
    play.tasks = TASKS[:1]
    with ScriptedProvider(Answer(error=ProviderError(500, "boom")), strict=False) as judge:
        done = play("--judge", f"{judge.base_url}/judge-1", "--retries", "0")
    assert "void, judge: 1 of 1 answers unusable: the judge answered with status 500 (" in done.stderr
    assert {(success, void) for _, success, void in results(play)} == {(None, Void.JUDGE)}


def test_the_last_verdict_counts_and_others_are_passed_over() -> None:
    found = read_verdict('{"success": true}\n{"reward": 7}\n{"reward": NaN}\n{"other": 1}\n{broken\nbye')
    assert found is not None
    assert found.success == 1.0
    vast = read_verdict('{"reward": 1' + "0" * 400 + "}")
    assert vast is not None
    assert vast.success == 1.0
    assert read_verdict('{"other": 1}\n[]\n{"success": "yes"}') is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{}", "`id` is missing"),
        ('{"id": "a"}\n{"id": "a"}', "line 2: id 'a' was given before"),
        ("[1]", "a JSON object is needed"),
        ("{", "line 1: no JSON"),
        ("", "no task"),
        ('{"id": "a", "promt": "x"}', "line 1: no `prompt`, but a field 'promt': did you mean 'prompt'?"),
        ('{"id": "a", "PROMPT": "x"}', "no `prompt`, but a field 'PROMPT'"),
        ('{"id": "a", "prompt": "x", "expects": "y"}', "no `expect`, but a field 'expects'"),
        ('{"id": "a", "expect": 7}', "`expect` is a text or a list of texts"),
        ('{"id": "a", "prompt": "\\u0000"}', "holds NUL"),
        ('{"id": "a", "prompt": "cut \\ud83d"}', "line 1: holds half of a surrogate pair"),
    ],
)
def test_unusable_tasks_are_refused_by_line(play: Chaos, tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(line)
    done = play("--tasks", str(file))
    assert done.exit_code == 2
    assert said in done.output
    assert not play.out.exists()


def test_lines_end_as_any_editor_ends_them_and_texts_hold_any_character(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes('\ufeff{"id": "a", "prompt": "one\u2028two\x85"}\r\n{"id": "b"}\r\n'.encode())
    assert [(one.id, one.prompt) for one in read_tasks(file, checked=False)] == [
        ("a", "one\u2028two\x85"),
        ("b", '{"id": "b"}'),
    ]


def test_fields_of_the_agent_and_of_the_checker_are_their_own(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"id": "a", "prompts": ["y"]}\n{"id": "b", "prompt": "x", "expected": "z"}')
    assert [one.id for one in read_tasks(file, checked=True)] == ["a", "b"]


def test_no_other_host_gets_openais_key_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("JUDGE_KEY", "the judge's")
    assert find_judge_key("https://api.openai.com/v1", None) == "theirs"
    assert find_judge_key("https://judge.example/v1", None) is None
    assert find_judge_key("https://api.openai.com.judge.example/v1", None) is None
    assert find_judge_key("https://judge.example/v1", "JUDGE_KEY") == "the judge's"
    with pytest.raises(ValueError, match="NO_SUCH_KEY"):
        find_judge_key("https://judge.example/v1", "NO_SUCH_KEY")
