"""The imitation warm-up: its variants, its loop, its command, and the policy that comes with the package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.checkpoint import read_checkpoint
from crosswind.policies.tiny.model import Qwen3, Shape, initial_weights
from crosswind.policies.tiny.tokenizer import PAD
from crosswind.policies.versions.version import PRETRAINED, read_version, verify
from crosswind.simulators.environment import load
from crosswind.simulators.episodes.demonstrations import demonstrations, write
from crosswind.trainer.commands.imitation import imitation as command
from crosswind.trainer.imitation.examples import READ_WEIGHT, Demonstration, TokenExample, batch, example
from crosswind.trainer.imitation.variants import GIVING_UP, Shares, make_variant
from crosswind.trainer.imitation.warmup import (
    CURVE_STEP,
    Recipe,
    Start,
    curve,
    examples,
    forward_tiny,
    learn,
    learning_rate,
    read_demonstrations,
)
from crosswind.trainer.objectives.imitation import imitation
from tests.trainer.imitation.held_out import success

RETAIL = PRETRAINED / "retail"
RERUN_STEPS = 2 * CURVE_STEP


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first demonstrations of the file that the shipped policy was made from."""
    path = tmp_path_factory.mktemp("demonstrations") / "demonstrations.jsonl"
    count = RERUN_STEPS * Recipe().batch
    assert write(path, islice(demonstrations(load("retail"), "train", "practice", count, 0), count)) == count
    return path


@pytest.fixture(scope="session")
def lines(clean: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in clean.read_text().splitlines()]


def _calls(messages: list[Mapping[str, Any]]) -> list[tuple[str, str]]:
    made = (call["function"] for message in messages for call in message.get("tool_calls") or ())
    return [(function["name"], function["arguments"]) for function in made]


def _texts(messages: list[Mapping[str, Any]], role: str) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == role]


def _all(kind: str, lines: list[dict[str, Any]]) -> list[tuple[list[Any], list[Any]]]:
    """Clean and varied messages where the one variant did change something."""
    only = Shares(**(dict.fromkeys(Shares().as_dict(), 0.0) | {kind: 1.0}))
    pairs = [
        (line["messages"], make_variant(line["messages"], only, seed=1, index=at))
        for at, line in enumerate(lines)
    ]
    return [(before, after) for before, after in pairs if before != after]


def test_shares_are_those_asked_for(lines: list[dict[str, Any]]) -> None:
    shares = Shares(retry=0.2, give_up=0.1, user=0.3, ignore=0.0, follow=0.0)
    messages = lines[0]["messages"]
    kinds = Counter()  # type: Counter[str]
    for index in range(1500):
        shown = make_variant(messages, shares, seed=3, index=index)
        gave_up = shown[-1]["content"] == GIVING_UP
        again = len(_calls(shown)) > len(_calls(messages))
        user = _texts(shown, "user") != _texts(messages, "user")
        kinds["give_up" if gave_up else "retry" if again else "user" if user else "clean"] += 1
    assert kinds["retry"] / 1500 == pytest.approx(0.2, abs=0.04)
    assert kinds["give_up"] / 1500 == pytest.approx(0.1, abs=0.03)
    assert kinds["user"] / 1500 == pytest.approx(0.3, abs=0.04)


def test_a_variant_is_a_function_of_seed_and_index(lines: list[dict[str, Any]]) -> None:
    noisy = Shares(retry=0.5, user=0.4, give_up=0.0, ignore=0.0, follow=0.0)

    def made(seed: int) -> list[Any]:
        return [make_variant(line["messages"], noisy, seed=seed, index=at) for at, line in enumerate(lines)]

    assert made(1) == made(1) != made(2)


def test_a_retry_repeats_the_call_and_brings_the_truth(lines: list[dict[str, Any]]) -> None:
    pairs = _all("retry", lines)
    assert len(pairs) > len(lines) / 2
    for before, after in pairs:
        repeated = [call for call, count in Counter(_calls(after)).items() if count > 1]
        assert repeated and set(_calls(after)) == set(_calls(before))
        assert set(_texts(before, "tool")) <= set(_texts(after, "tool"))
        assert after[-1] == before[-1]
        ids = [call["id"] for message in after for call in message.get("tool_calls") or ()]
        assert ids == [message["tool_call_id"] for message in after if message["role"] == "tool"]
        assert len(set(ids)) == len(ids)


def test_giving_up_ends_right_after_the_fault(lines: list[dict[str, Any]]) -> None:
    for before, after in _all("give_up", lines):
        assert after[-1] == {"role": "assistant", "content": GIVING_UP}
        assert after[-2]["role"] == "tool" and after[-2]["content"] != before[len(after) - 2]["content"]
        assert after[:-2] == before[: len(after) - 2]


def test_misleading_remarks_are_ignored_or_followed(lines: list[dict[str, Any]]) -> None:
    for before, after in _all("ignore", lines):
        assert [one for one in after if one["role"] != "tool"] == [
            one for one in before if one["role"] != "tool"
        ]
        assert _texts(after, "tool") != _texts(before, "tool")
    for _, after in _all("follow", lines):
        assert after[-1]["content"] in str(after[-2]["content"])


def test_user_noise_leaves_all_but_the_users_words(lines: list[dict[str, Any]]) -> None:
    pairs = _all("user", lines)
    assert pairs
    for before, after in pairs:
        assert [one for one in after if one["role"] != "user"] == [
            one for one in before if one["role"] != "user"
        ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rety=0.1", "'rety' is unknown"),
        ("retry=x", "must be a number"),
        ("retry=2", "from 0 to 1"),
        ("user=0.9,retry=0.9", "add up"),
    ],
)
def test_bad_shares_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Shares.parse(text)


def test_the_policys_tokens_are_what_it_said(lines: list[dict[str, Any]]) -> None:
    chat = ChatFormat(RETAIL)
    for line in lines[:40]:
        shown = example(chat, Demonstration(line["tools"], line["messages"]))
        own = [token for token, weight in zip(shown.ids, shown.weights, strict=True) if weight == 1.0]
        said = [message for message in line["messages"] if message["role"] == "assistant"]
        assert own.count(chat.end) == len(said)
        opening = chat.template.opening
        rendered = "".join(chat.template.render([one], None, open_turn=False)[len(opening) :] for one in said)
        assert chat.tokenizer.decode(own, skip_special_tokens=False) == rendered
        asked = chat.prompt_ids(line["messages"][:2], line["tools"])
        assert shown.ids[: len(asked)] == asked
        assert set(shown.weights[: len(asked)]) == {0.0, READ_WEIGHT}


@given(
    st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=12), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_a_batch_holds_every_example_once(tails: list[list[int]], silent: int) -> None:
    head = list(range(10, 10 + silent))
    examples = [TokenExample(head + tail, [0.0] * silent + [1.0] * len(tail)) for tail in tails]
    made = batch(examples, pad=0)
    for row, one in enumerate(examples):
        known = made.weights[row] > 0
        assert made.targets[row][known].tolist() == one.ids[silent:]
        inputs = made.inputs[row][: len(one.ids) - len(made.prefix) - 1].tolist()
        assert made.prefix.tolist() + inputs == one.ids[:-1]
    assert int((made.weights > 0).sum()) == sum(map(len, tails))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 6))
def test_the_loss_is_the_weighted_mean_and_padding_is_nothing(seed: int, padding: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, 7, generator=generator)
    targets = torch.randint(0, 7, (2, 5), generator=generator)
    weights = torch.tensor([[0.3, 1.0, 1.0, 0.3, 0.0], [0.0, 1.0, 0.3, 1.0, 1.0]])
    found = imitation(logits, targets, weights)
    losses = -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]
    assert float(found.loss) == pytest.approx(float((losses * weights).sum() / weights.sum()), abs=1e-5)
    assert found.policy_loss == pytest.approx(float(losses[weights == 1.0].mean()), abs=1e-5)
    padded = imitation(
        torch.cat((logits, torch.randn(2, padding, 7)), 1),
        torch.cat((targets, torch.zeros(2, padding, dtype=torch.long)), 1),
        torch.cat((weights, torch.zeros(2, padding)), 1),
    )
    assert float(padded.loss) == pytest.approx(float(found.loss), abs=1e-6)


def test_learning_is_repeatable_and_lowers_the_loss_until_it_may_stop(lines: list[dict[str, Any]]) -> None:
    chat = ChatFormat(RETAIL)
    shown = [example(chat, Demonstration(line["tools"], line["messages"])) for line in lines[:4]]
    shape = Shape(chat.tokenizer.get_vocab_size(), layers=1)

    def run(steps: int, stop_loss: float) -> tuple[list[float], bool]:
        torch.set_num_threads(1)
        model = Qwen3(shape, initial_weights(shape, 5))
        recipe = Recipe(batch=4, steps=steps, stop_loss=stop_loss, window=2)
        learnt = learn(start_of(model, chat, 0), shown * steps, recipe)
        return learnt.losses, learnt.reached

    losses, reached = run(40, 0.0)
    assert not reached and len(losses) == 40
    assert losses[0] > 5.0 and losses[-1] < 1.0
    again, reached = run(40, losses[20])
    assert reached and again == losses[: len(again)] and len(again) < 40


def test_the_rate_falls_to_its_floor() -> None:
    recipe = Recipe(steps=100, learning_rate=1.0, floor=0.1)
    assert [learning_rate(recipe, step) for step in (0, 50, 99)] == pytest.approx([1.0, 0.5, 0.1])


def test_the_command_makes_a_policy_that_loads(clean: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    arguments = ["--demonstrations", str(clean), "--out", str(out), "--steps", "3", "--shares", "user=0.5"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    version = read_version(out)
    verify(version)
    assert read_checkpoint(out).version.version == "made"
    assert version.metrics["shares"]["user"] == 0.5
    assert version.metrics["command"].startswith(
        "crosswind train imitation --demonstrations demonstrations.jsonl"
    )
    assert len(version.metrics["loss_curve"]) == 1
    assert rerun(out, clean, 3) == pytest.approx(version.metrics["loss_curve"], abs=1e-3)
    again = CliRunner().invoke(command, arguments)
    assert again.exit_code == 2 and "exists already" in again.output


def test_the_command_refuses_what_it_cannot_use(clean: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(clean.read_text().splitlines()[0] + "\n{\n")
    out = ["--out", str(tmp_path / "out")]
    for given_file, more, reason in [
        (broken, [], "broken.jsonl:2: not a demonstration"),
        (clean, ["--shares", "all=1"], "share 'all' is unknown"),
        (tmp_path / "none", [], "does not exist"),
        (clean, ["--packs", str(tmp_path / "none")], "is no folder: name one with LANGUAGE/DOMAIN.jsonl"),
    ]:
        result = CliRunner().invoke(command, ["--demonstrations", str(given_file), *out, *more])
        assert result.exit_code == 2 and reason in result.output
    assert not (tmp_path / "out").exists()


def start_of(model: Qwen3, chat: ChatFormat, pad: int) -> Start:
    """A warm-up's start whose policy isn't written."""
    return Start(list(model.parameters()), partial(forward_tiny, model), chat, pad, print)


def test_any_policy_is_a_start_and_stays_what_it_is(clean: Path, tmp_path: Path) -> None:
    """The shipped one, loaded as any model is: it knows these demonstrations from its first step."""
    out = tmp_path / "further"
    given = ["--demonstrations", str(clean), "--out", str(out), "--steps", "2", "--shares", "retry=0"]
    result = CliRunner().invoke(command, [*given, "--policy", "retail"])
    assert result.exit_code == 0, result.output
    version = read_version(out)
    verify(version)
    assert version.parent == "retail" and "--policy retail" in version.metrics["command"]
    assert version.metrics["recipe"]["learning_rate"] == 1e-5
    assert version.metrics["loss_curve"][0] < 1.0, "random weights begin above 5"
    before, after = (load_file(path / "model.safetensors") for path in (RETAIL, out))
    moved = {name: float((after[name] - before[name]).abs().max()) for name in before}
    assert 0 < max(moved.values()) < 1e-4
    assert (out / "tokenizer.json").read_bytes() == (RETAIL / "tokenizer.json").read_bytes()


def test_a_start_that_is_no_policy_is_refused(clean: Path, tmp_path: Path) -> None:
    given = ["--demonstrations", str(clean), "--out", str(tmp_path / "out"), "--policy", str(tmp_path)]
    result = CliRunner().invoke(command, given)
    assert result.exit_code == 2 and "--policy" in result.output and not (tmp_path / "out").exists()


def rerun(directory: Path, demonstrations: Path, steps: int) -> list[float]:
    """The first points of the loss curve of the policy in `directory`, learnt again from its own record.

    The demonstrations' file need hold no more than these steps use.
    """
    torch.set_num_threads(1)
    record = read_version(directory).metrics
    chat = ChatFormat(directory)
    shape = Shape(chat.tokenizer.get_vocab_size())
    model = Qwen3(shape, initial_weights(shape, record["seed"]))
    shown = read_demonstrations(demonstrations, Shares(**record["shares"]), record["seed"])
    recipe = Recipe(**record["recipe"])
    needed = examples(chat, shown[: steps * recipe.batch])
    start = start_of(model, chat, chat.tokenizer.token_to_id(PAD))
    return curve(learn(start, needed, recipe).losses)


def test_the_shipped_policy_is_what_its_record_says(clean: Path) -> None:
    """Its files are unchanged, and its first steps come out the same from the same demonstrations, but for
    words of noise that have changed since.
    """
    verify(read_version(RETAIL))
    assert (RETAIL / "model.safetensors").stat().st_size <= 4_000_000
    points = RERUN_STEPS // CURVE_STEP
    assert rerun(RETAIL, clean, RERUN_STEPS) == pytest.approx(
        read_version(RETAIL).metrics["loss_curve"][:points], abs=0.05
    )


def test_the_shipped_policy_reads_its_users_and_has_to_learn_about_its_tools() -> None:
    """At temperature 1 on held-out tasks; where noise counts, only episodes that it hit count."""
    torch.set_num_threads(1)
    calm = success(RETAIL, "clean", 84)
    assert sum(reward for _, reward in calm) / len(calm) >= 0.95
    for arm, low, high in [
        ("tool.timeout", 0.05, 0.75),
        ("tool.incomplete", 0.1, 0.6),
        ("tool.misleading", 0.1, 0.5),
        ("user.typos", 0.85, 1.0),
        ("user.redundant", 0.85, 1.0),
    ]:
        hit = [reward for was_hit, reward in success(RETAIL, arm, 84) if was_hit]
        assert len(hit) >= 15
        assert low <= sum(hit) / len(hit) <= high, arm
