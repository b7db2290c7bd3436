"""`crosswind export --format trl | verl | parquet`: rows as written, and as the real libraries read them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from crosswind.gateway.trajectory.commands.export import export
from crosswind.gateway.trajectory.content import View, unpack
from crosswind.gateway.trajectory.record import Arm, Completion, Reward, Row, SessionClosed, Turn
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.exports import parquet, trl, verl
from crosswind.trainer.learning import model
from crosswind.trainer.objectives.objective import SampledTokens, resolve
from crosswind.trainer.rollouts.assembly import assemble_batch
from crosswind.trainer.rollouts.batches import collate
from crosswind.trainer.rollouts.groups import Admission, read_group
from tests.trainer import practice
from tests.trainer.exports.environment import ask

IMPORTED = (parquet, trl, verl)
"""As the package's entry point does."""


@pytest.fixture
def played(store: SqliteStore, policy: model.Policy) -> SqliteStore:
    """Three groups of four, two of each noisy; all rewards of the last are equal."""
    practice.play_groups(store, policy, range(2), noisy=2)
    practice.play(store, policy, "g2", 4, noisy=2, reward=lambda done: 1.0)
    return store


def run_export(store: SqliteStore, out: Path, form: str, *more: str) -> Any:
    place = f"sqlite:///{store.path}"
    result = CliRunner().invoke(export, ["--store", place, "--format", form, "--out", str(out), *more])
    assert result.exit_code == 0, result.output
    return result


def read_rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_row_of_trl_says_which_tokens_were_sampled(played: SqliteStore, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    run_export(played, out, "trl")
    rows = read_rows(out)
    assert len(rows) == 12
    for row in rows:
        found = played.trajectory(row["session_id"])
        assert found is not None
        first, second = found.turns
        sampled = [token for token, mask in zip(row["completion_ids"], row["tool_mask"], strict=True) if mask]
        assert row["prompt_ids"] + row["completion_ids"] == [
            *prompt_ids(second),
            *second.completions[0].token_ids,
        ]
        assert tuple(sampled) == first.completions[0].token_ids + second.completions[0].token_ids
        logprobs = [
            value for value, mask in zip(row["old_per_token_logps"], row["tool_mask"], strict=True) if mask
        ]
        assert tuple(logprobs) == first.completions[0].logprobs + second.completions[0].logprobs
        assert row["completion_mask"] == [1] * len(row["completion_ids"])
        assert (row["arm"], row["group_id"]) == (found.session.arm, found.session.group_id)
        assert row["reward"] == found.session.reward and row["policy_versions"] == [practice.FIRST]
    noisy = [row for row in rows if row["arm"] == Arm.NOISY]
    assert {row["noise_type"] for row in noisy} == set(practice.NOISE) and len(noisy) == 6


def prompt_ids(turn: Turn) -> list[int]:
    assert turn.prompt_ids is not None
    return list(unpack("i", turn.prompt_ids.bytes()))


def test_texts_of_both_views_stand_beside_the_tokens(store: SqliteStore, tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "find"}}]

    def body(*messages: dict[str, Any]) -> View:
        return View.plain(json.dumps({"messages": messages, "tools": tools, "temperature": 1}).encode())

    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    said: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "Shipped."},
    ]
    clean, shown = ({"role": "user", "content": text} for text in ("Where is it?", "Whre is it?"))
    came, broke = ({"role": "tool", "tool_call_id": "c", "content": text} for text in ("shipped", "error"))
    requests = [((clean,), (shown,)), ((clean, said[0], came), (shown, said[0], broke))]
    prompts = [[1, 2], [1, 2, 3, 4, 5, 6]]
    rows: list[Row] = [practice.session("g", 0, 1)]
    for index, (received, sent) in enumerate(requests):
        produced = View.plain(json.dumps({"choices": [{"message": said[index]}]}).encode())
        sampled = Completion(0, (3, 4), (-0.5, -0.25), "stop")
        bodies = {"received": body(*received), "sent": body(*sent), "produced": produced}
        rows.append(practice.turn("g-0", index, prompts[index], sampled, **bodies))
    store.write([*rows, Reward("g-0", 1, 1.0), SessionClosed("g-0", 2)])
    run_export(store, tmp_path / "a.jsonl", "trl")
    [row] = read_rows(tmp_path / "a.jsonl")
    assert [one["content"] for one in row["prompt"]] == ["Whre is it?"]
    assert [one["content"] for one in row["completion"]] == ["", "error", "Shipped."]
    assert [one["content"] for one in row["clean_completion"]] == ["", "shipped", "Shipped."]
    assert row["completion"][0]["tool_calls"] == [call] and json.loads(row["tools"]) == tools
    assert (row["prompt_ids"], row["completion_ids"]) == ([1, 2], [3, 4, 5, 6, 3, 4])
    assert row["tool_mask"] == [1, 1, 0, 0, 1, 1]


def test_advantages_are_over_the_group_whatever_is_selected(played: SqliteStore, tmp_path: Path) -> None:
    run_export(played, tmp_path / "all.jsonl", "trl")
    run_export(played, tmp_path / "one.jsonl", "trl", "--session", "g0-1")
    whole = {row["session_id"]: row["advantages"] for row in read_rows(tmp_path / "all.jsonl")}
    assert [(row["session_id"], row["advantages"]) for row in read_rows(tmp_path / "one.jsonl")] == [
        ("g0-1", whole["g0-1"])
    ]
    assert {value for session, value in whole.items() if session.startswith("g2")} == {0.0}


def test_what_may_not_train_is_left_out_and_counted(
    store: SqliteStore, policy: model.Policy, tmp_path: Path
) -> None:
    practice.play(store, policy, "g0", 2)
    store.write([practice.session("g1", 0, 1), Reward("g1-0", 1, 1.0), SessionClosed("g1-0", 2)])
    result = run_export(store, tmp_path / "a.jsonl", "verl")
    assert len(read_rows(tmp_path / "a.jsonl")) == 2 and "left out: 1 sessions: no_turns" in result.stderr
    result = run_export(store, tmp_path / "b.jsonl", "verl", "--temperature", "0.7")
    assert read_rows(tmp_path / "b.jsonl") == [] and "2 sessions: other_temperature" in result.stderr


def test_a_session_without_a_group_has_no_advantage(
    store: SqliteStore, policy: model.Policy, tmp_path: Path
) -> None:
    practice.play(store, policy, "g0", 1, alone=True)
    run_export(store, tmp_path / "a.jsonl", "trl")
    run_export(store, tmp_path / "b.jsonl", "verl")
    [trl], [verl] = read_rows(tmp_path / "a.jsonl"), read_rows(tmp_path / "b.jsonl")
    assert trl["advantages"] is None and verl["advantages"] is None and verl["uid"] == "g0-0"


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is installed here")
def test_parquet_without_pyarrow_names_the_extra(played: SqliteStore, tmp_path: Path) -> None:
    arguments = ["--store", str(played.path), "--format", "parquet", "--out", str(tmp_path / "a.parquet")]
    result = CliRunner().invoke(export, arguments)
    assert result.exit_code == 1 and "pip install 'crosswind[parquet]'" in result.stderr


def test_parquet_holds_what_the_lines_hold(played: SqliteStore, tmp_path: Path) -> None:
    """And sessions without tokens, too: here one that has none at all has no row."""
    parquet_file = pytest.importorskip("pyarrow.parquet", reason="pip install 'crosswind[parquet]'")
    played.write([practice.session("g3", 0, 1)])
    run_export(played, tmp_path / "a.jsonl", "trl")
    run_export(played, tmp_path / "a.parquet", "trl")
    run_export(played, tmp_path / "all.parquet", "parquet")
    lines = read_rows(tmp_path / "a.jsonl")
    assert parquet_file.read_table(tmp_path / "a.parquet").to_pylist() == lines
    whole = parquet_file.read_table(tmp_path / "all.parquet").to_pylist()
    for row, line in zip(whole, lines, strict=True):
        assert (row["sampled"], row["logprobs"]) == (line["tool_mask"], line["old_per_token_logps"])
        assert (row["session_id"], row["advantage"]) == (line["session_id"], line["advantages"])


@pytest.mark.trl
@pytest.mark.parametrize("objective", ["grpo", "gspo"])
def test_trl_has_our_loss(played: SqliteStore, tmp_path: Path, objective: str) -> None:
    """Of a policy that moved on, so that ratios are far from 1 and some are clipped."""
    moved = practice.write_tiny_policy(tmp_path / "moved", seed=1)
    run_export(played, tmp_path / "rollouts.jsonl", "trl")
    theirs = ask("loss", tmp_path / "rollouts.jsonl", moved, objective)
    loss, gradient, clipped = our_loss(played, model.load(moved), objective)
    assert abs(loss) > 1e-3 and clipped
    assert theirs["loss"] == pytest.approx(loss, abs=1e-5)
    assert theirs["gradient"] == pytest.approx(gradient, rel=1e-4)


def our_loss(store: SqliteStore, policy: model.Policy, objective: str) -> tuple[float, float, int]:
    """The trainer's loss of the whole store, its gradient's norm, and how many ratios were clipped."""
    config = practice.settings(
        objective=objective,
        optimiser__mini_batches=1,
        loss__clip_low=0.2,
        loss__clip_high=0.28,
        loss__kl=0.0,
    )
    admission = Admission({practice.FIRST: 0}, 0, 1.0)
    groups = [read_group(name, store.group(name), admission) for name in ("g0", "g1", "g2")]
    [mini_batch] = assemble_batch(groups, config, practice.FIRST, "seed").mini_batches
    batch = collate(mini_batch.samples)
    logprobs = policy.score(batch, 1.0)[0]
    tokens = SampledTokens(logprobs, batch.engine, batch.engine, batch.rollout, batch.advantages)
    result = resolve(objective)(tokens, config.loss, mini_batch.scale)
    result.loss.backward()
    squares = [(one.grad**2).sum() for one in policy.module.parameters() if one.grad is not None]
    return result.loss.item(), torch.stack(squares).sum().sqrt().item(), result.clipped


@pytest.mark.trl
@pytest.mark.parametrize(("form", "name"), [("trl", "a.jsonl"), ("verl", "a.jsonl")])
def test_datasets_reads_the_rows(played: SqliteStore, tmp_path: Path, form: str, name: str) -> None:
    run_export(played, tmp_path / name, form)
    read = ask("load", tmp_path / name)
    assert read["rows"] == 12 and read["first"] == read_rows(tmp_path / name)[0]


@pytest.mark.trl
def test_verl_makes_its_batch_and_our_advantages_of_it(
    store: SqliteStore, policy: model.Policy, tmp_path: Path
) -> None:
    """Where a group has one arm only. verl divides by the deviation of a sample, n - 1, plus 1e-6."""
    practice.play_groups(store, policy, range(2))
    run_export(store, tmp_path / "a.jsonl", "verl")
    read = ask("data_proto", tmp_path / "a.jsonl")
    ours = [row["advantages"] for row in read_rows(tmp_path / "a.jsonl")]
    assert read["rows"] == 8
    for mine, theirs in zip(ours, read["advantages"], strict=True):
        assert theirs[: len(mine)] == pytest.approx([value * (3 / 4) ** 0.5 for value in mine], abs=1e-5)
