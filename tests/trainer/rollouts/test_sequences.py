from __future__ import annotations

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from crosswind.gateway.trajectory.record import Completion, Turn, VersionSpan
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.learning.model import Policy
from crosswind.trainer.rollouts.batches import Sample, collate, micro_batches
from crosswind.trainer.rollouts.sequences import RolloutSequences, TokenSequence, build_sequences
from tests.trainer.practice import FIRST, chain, play, session, turn

ids = st.lists(st.integers(0, 99), min_size=1, max_size=5)


def completed(*token_ids: int) -> Completion:
    return Completion(0, token_ids, tuple(-0.1 * token for token in token_ids), "stop")


@given(ids, st.lists(st.tuples(ids, ids), min_size=1, max_size=4))
def test_turns_that_extend_one_another_become_one_sequence(
    question: list[int], rounds: list[tuple[list[int], list[int]]]
) -> None:
    prompt, turns, sampled = question, [], []
    for index, (answer, result) in enumerate(rounds):
        turns.append(turn("s", index, prompt, completed(*answer)))
        sampled += list(range(len(prompt), len(prompt) + len(answer)))
        prompt = [*prompt, *answer, *result]
    built = build_sequences(turns, FIRST)
    (one,) = built.sequences
    assert built.splits == 0
    assert one.token_ids == prompt[: len(prompt) - len(rounds[-1][1])]
    assert one.sampled == sampled
    assert one.logprobs == [-0.1 * one.token_ids[place] for place in sampled]
    assert all(one.current)


def test_a_turn_that_does_not_extend_the_last_one_begins_a_new_sequence_and_is_counted() -> None:
    turns = [
        turn("s", 0, [1, 2], completed(3)),
        turn("s", 1, [1, 2, 9, 4], completed(5, 6)),
        turn("s", 2, [1, 2, 9, 4, 5, 6, 7], completed(8)),
    ]
    built = build_sequences(turns, FIRST)
    assert [one.token_ids for one in built.sequences] == [[1, 2, 3], [1, 2, 9, 4, 5, 6, 7, 8]]
    assert [one.sampled for one in built.sequences] == [[2], [4, 5, 7]]
    assert built.splits == 1
    assert built.sampled == 4


def test_a_fork_continues_one_branch_only() -> None:
    turns = [
        turn("s", 0, [1], completed(2)),
        turn("s", 1, [1, 2, 3], completed(4)),
        structs.replace(turn("s", 2, [1, 2, 9], completed(5)), parent=0, branch="title"),
    ]
    built = build_sequences(turns, FIRST)
    assert [one.token_ids for one in built.sequences] == [[1, 2, 3, 4], [1, 2, 9, 5]]
    assert [one.sampled for one in built.sequences] == [[1, 3], [3]]


def test_a_turn_sampled_across_a_swap_is_not_the_newest_versions_own() -> None:
    spans = (VersionSpan("old", 0, 2), VersionSpan("new", 2, 3))
    made = turn(
        "s", 0, [1], replace(completed(2, 3, 4), versions=spans), policy_first="old", policy_last="new"
    )
    assert build_sequences([made], "new").sequences[0].current == [False, False, False]
    unspanned: Turn = turn("s", 0, [1], completed(2), policy_first="new", policy_last="new")
    assert build_sequences([unspanned], "new").sequences[0].current == [True]
    assert build_sequences([unspanned], "newer").sequences[0].current == [False]


def test_what_the_store_gives_back_is_what_the_policy_read_and_sampled(
    store: SqliteStore, policy: Policy
) -> None:
    play(store, policy, "g", 2, reward=lambda completions: 1.0, turns=3)
    for trajectory in store.group("g"):
        built = build_sequences(trajectory.turns, FIRST)
        (one,) = built.sequences
        assert len(one.sampled) == 9
        last = trajectory.turns[-1]
        assert last.prompt_ids is not None
        assert (
            one.token_ids[: -len(last.completions[0].token_ids)]
            == torch.frombuffer(bytearray(last.prompt_ids.bytes()), dtype=torch.int32).tolist()
        )
        scored, _ = policy.score(collate([Sample(built, 1.0)]), 1.0)
        assert torch.allclose(scored, torch.tensor(one.logprobs), atol=1e-5)


def test_prompts_of_several_segments_are_joined() -> None:
    made = structs.replace(turn("s", 0, [], completed(4)), prompt_ids=chain([1], [2, 3]))
    assert build_sequences([made], FIRST).sequences[0].token_ids == [1, 2, 3, 4]
    assert session("g", 0, 2).group_id == "g"


@given(
    st.lists(st.lists(st.integers(2, 12), min_size=1, max_size=3), min_size=1, max_size=12),
    st.integers(1, 40),
)
def test_micro_batches_hold_every_rollout_once_and_whole(shapes: list[list[int]], budget: int) -> None:
    samples = [
        Sample(
            RolloutSequences(
                tuple(TokenSequence([index] * length, [length - 1], [-1.0], [True]) for length in lengths),
                0,
            ),
            float(index),
        )
        for index, lengths in enumerate(shapes)
    ]
    batches = micro_batches(samples, budget)
    assert sorted(float(value) for batch in batches for value in batch.advantages) == [
        float(index) for index in range(len(shapes))
    ]
    for batch in batches:
        rows, longest = batch.input_ids.shape
        assert batch.advantages.shape[0] == 1 or rows * longest <= budget
        read = batch.input_ids[batch.rows[batch.place], batch.columns[batch.place]]
        assert torch.equal(batch.targets, read), "here a sequence is one token again and again"
        assert torch.equal(batch.advantages[batch.rollout].long(), batch.targets)


def test_padding_and_packing_change_no_log_probability(policy: Policy) -> None:
    samples = [
        Sample(
            RolloutSequences(
                (TokenSequence(list(range(20, 20 + length)), [3, length - 1], [0.0] * 2, [True] * 2),), 0
            ),
            1.0,
        )
        for length in (5, 30, 11)
    ]
    alone = [policy.score(collate([sample]), 0.7)[0] for sample in samples]
    together, entropy = policy.score(collate(samples), 0.7)
    assert torch.allclose(together, torch.cat(alone), atol=1e-5)
    assert (entropy > 0).all()


def test_the_score_is_that_of_the_distribution_at_the_temperature(policy: Policy) -> None:
    one = TokenSequence([20, 21, 22], [2], [0.0], [True])
    value, entropy = policy.score(collate([Sample(RolloutSequences((one,), 0), 1.0)]), 0.5)
    with torch.no_grad():
        logits = policy.module(input_ids=torch.tensor([[20, 21]])).logits[0, -1] / 0.5
    expected = torch.log_softmax(logits, -1)
    assert torch.allclose(value, expected[22])
    assert torch.allclose(entropy, torch.distributions.Categorical(logits=logits).entropy())
