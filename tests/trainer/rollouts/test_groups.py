from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from msgspec import structs

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import (
    Completion,
    RewardState,
    SessionClosed,
    SessionMarked,
    VersionSpan,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import configure
from crosswind.trainer.rollouts.assembly import assemble_batch, count_refusals, divide
from crosswind.trainer.rollouts.groups import Group, Rollout, read_group
from tests.gateway.trajectory.rows import event
from tests.trainer.practice import CLOCK, FIRST, chain, session, turn
from tests.trainer.rollouts.group_rows import ADMISSION, DEMO, fit_turn, put, read


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"fitness": "finish_missing"}, "finish_missing"),
        ({"prompt_ids": None}, "not_one_completion"),
        ({"completions": ()}, "not_one_completion"),
        ({"version": "never published"}, "unknown_version"),
        ({"version": FIRST}, "stale"),
        ({"completions": (Completion(0, (7, 8), (-0.5,)),)}, "no_finite_logprobs"),
        ({"completions": (Completion(0, (7,), (float("nan"),)),)}, "no_finite_logprobs"),
        ({"completions": (Completion(0, (7, 500), (-0.5, -0.5)),)}, "other_tokenizer"),
        ({"prompt_ids": chain([5, -6])}, "other_tokenizer"),
        ({"prompt_ids": chain([])}, "empty_tokens"),
        ({"completions": (Completion(0, (), ()),)}, "empty_tokens"),
        ({"sent": turn("x", 0, [1], Completion(0)).received}, None),
    ],
)
def test_a_rollout_with_a_turn_that_cannot_train_is_refused_with_the_reason_and_its_reward_counts(
    store: SqliteStore, fields: dict[str, Any], reason: str | None
) -> None:
    version = str(fields.pop("version", "third"))
    put(store, "g", [1.0, 0.0], turns={0: [fit_turn("g-0", version=version, **fields)]})
    group = read(store)
    assert [rollout.refused for rollout in group.rollouts] == [reason, None]
    assert group.rewards == [1.0, 0.0]


def test_a_reward_that_is_no_finite_number_is_left_out_of_the_baseline(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0, float("inf")])
    group = read(store)
    assert (group.rewards, group.left_out) == ([1.0, 0.0], ("reward_not_finite",))


def test_a_turn_of_another_temperature_is_refused(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0])
    cold = replace(ADMISSION, temperature=0.7)
    assert {rollout.refused for rollout in read_group("g", store.group("g"), cold).rollouts} == {
        "other_temperature"
    }


def test_engines_sample_at_1_where_no_temperature_is_named(store: SqliteStore) -> None:
    sent = View.plain(b'{"model": "policy", "messages": []}')
    put(store, "g", [1.0, 0.0], turns={index: [fit_turn(f"g-{index}", sent=sent)] for index in range(2)})
    found = {
        temperature: {
            one.refused
            for one in read_group("g", store.group("g"), replace(ADMISSION, temperature=temperature)).rollouts
        }
        for temperature in (1.0, 0.7)
    }
    assert found == {1.0: {None}, 0.7: {"other_temperature"}}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"top_p": 0.9}, "other_sampling"),
        ({"top_k": 20}, "other_sampling"),
        ({"logit_bias": {"5": -100}}, "other_sampling"),
        ({"repetition_penalty": 1.1}, "other_sampling"),
        ({"top_p": 1.0, "top_k": -1, "frequency_penalty": 0.0, "logit_bias": {}}, None),
    ],
)
def test_a_turn_that_was_sampled_from_another_distribution_is_refused(
    store: SqliteStore, asked: dict[str, Any], reason: str | None
) -> None:
    sent = View.plain(orjson.dumps({"model": "policy", "messages": [], **asked}))
    put(store, "g", [1.0, 0.0], turns={0: [fit_turn("g-0", sent=sent)]})
    assert read(store).rollouts[0].refused == reason


def test_only_the_last_attempt_at_a_turn_counts(store: SqliteStore) -> None:
    cut = fit_turn("g-0", fitness="client_went_away")
    put(store, "g", [1.0, 0.0], turns={0: [cut, fit_turn("g-0", attempt=1)]})
    rollout = read(store).rollouts[0]
    assert rollout.refused is None
    assert [made.attempt for made in rollout.turns] == [1]


def test_quarantined_and_stopped_sessions_are_left_out_of_the_baseline_too(store: SqliteStore) -> None:
    put(store, "g", [1.0, 1.0, 0.0, 0.0])
    store.write([SessionMarked("g-0", quarantine="identity"), SessionMarked("g-2", noise_stopped=True)])
    group = read(store)
    assert [rollout.session.id for rollout in group.rollouts] == ["g-1", "g-3"]
    assert sorted(group.left_out) == ["noise_stopped", "quarantined"]
    batch = assemble_batch([group], DEMO, "third", "seed")
    assert count_refusals([group], batch) == {"noise_stopped": 1, "quarantined": 1}


OUTAGES: dict[str, dict[str, Any]] = {
    "upstream_error": {"upstream_status": 503},
    "ours_error": {},
    "client_error": {},
    "aborted": {"upstream_status": 200},
    "noise_failed": {"upstream_status": 200},
}


@pytest.mark.parametrize("reason", OUTAGES)
def test_what_the_infrastructure_failed_is_void_and_what_noise_failed_trains(
    store: SqliteStore, reason: str
) -> None:
    """One group holds both, and a rollout that got over an outage by asking again."""
    down = fit_turn("g-0", 1, fitness=reason, prompt_ids=None, completions=(), **OUTAGES[reason])
    struck = fit_turn("g-2", 1, fitness="injected_error", prompt_ids=None, completions=())
    turns = {
        0: [fit_turn("g-0"), down],
        1: [structs.replace(down, session_id="g-1", index=0), fit_turn("g-1", attempt=1)],
        2: [fit_turn("g-2"), struck],
    }
    put(store, "g", [0.0, 1.0, 0.0, 1.0, 1.0], noisy=3, turns=turns)
    group = read(store)
    assert [(one.session.id, one.refused) for one in group.rollouts] == [
        ("g-1", None),
        ("g-2", None),
        ("g-3", None),
        ("g-4", None),
    ]
    assert group.left_out == (reason,)
    assert [turn.index for turn in group.rollouts[1].turns] == [0], "what it said before the fault trains"
    batch = assemble_batch([group], DEMO, "third", "seed")
    assert sorted(sample.advantage for sample in batch.samples) == pytest.approx(
        [-(2**0.5), 0.5**0.5, 0.5**0.5]
    )
    assert count_refusals([group], batch) == {reason: 1}

    masked = read_group("g", store.group("g"), replace(ADMISSION, void_failures=False))
    assert masked.rewards == [0.0, 1.0, 0.0, 1.0, 1.0] and masked.trainable == [1, 2, 3, 4]
    assert masked.rollouts[0].refused == reason


def test_a_client_that_gave_up_on_an_injected_delay_was_failed_by_the_noise(store: SqliteStore) -> None:
    left = [fit_turn(f"g-{index}", 1, fitness="client_error", completions=()) for index in (0, 1)]
    put(store, "g", [0.0, 0.0, 1.0], turns={index: [fit_turn(f"g-{index}"), left[index]] for index in (0, 1)})
    slow: dict[str, Any] = {"operator": "transport.slow_start", "site": "transport", "turn_index": 1}
    store.write([event("g-0", **slow), event("g-1", **slow, after=None)])
    group = read(store)
    assert [one.session.id for one in group.rollouts] == ["g-0", "g-2"]
    assert (group.left_out, group.trainable) == (("client_error",), [0, 1])


def test_a_full_context_is_the_rollouts_own(store: SqliteStore) -> None:
    full = fit_turn("g-0", 1, fitness="upstream_error", upstream_status=400, completions=())
    put(store, "g", [0.0, 1.0], turns={0: [fit_turn("g-0"), full]})
    assert [one.refused for one in read(store).rollouts] == ["upstream_error", None]


def test_a_session_that_was_closed_as_void_counts_as_none(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0])
    store.write([session("g", 2, 3), SessionClosed("g-2", next(CLOCK))])
    store.write([SessionMarked("g-2", reward_state=RewardState.NOT_APPLICABLE)])
    assert read(store).left_out == ("void",)


def test_a_group_is_filtered_only_when_all_its_rewards_are_equal(store: SqliteStore) -> None:
    put(store, "even", [1.0, 1.0, 1.0, 1.0], noisy=2)
    put(store, "apart", [1.0, 1.0, 0.0, 0.0], noisy=2)
    put(store, "half", [1.0, 0.0, 0.0, 0.0], noisy=2)
    groups = [read(store, name) for name in ("even", "apart", "half")]
    assert [group.uniform for group in groups] == [True, False, False]
    assert [group.flat_arms for group in groups] == [0, 2, 1]
    batch = assemble_batch(groups, configure("demo", {"optimiser.mini_batches": 1}), "third", "seed")
    assert (batch.filtered_groups, batch.flat_arms) == (1, 3)
    (mini_batch,) = batch.mini_batches
    assert sorted(sample.advantage for sample in mini_batch.samples) == [-1.0, 1.0], (
        "only the clean arm of `half`"
    )
    assert mini_batch.scale.rollouts == 12, "1/G keeps G = N, and a filtered group is a zero in the mean"
    assert mini_batch.scale.tokens == 24


def test_a_single_rollout_in_an_arm_gets_no_advantage_and_is_counted(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0, 1.0], noisy=1)
    group = read(store)
    assert group.flat_arms == 1
    samples = assemble_batch([group], DEMO, "third", "seed").samples
    assert [sample.advantage for sample in samples] == [1.0, -1.0]


def test_arms_are_as_assigned_and_by_exposure_as_an_ablation(store: SqliteStore) -> None:
    """Of the noisy rollouts two met their own type; another operator's event, or a withheld one, is none."""
    put(store, "g", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0], noisy=4)
    ids = [one.session.id for one in store.group("g")]
    own = ["tool.timeout", "user.typos"]
    store.write([event(ids[2], operator=own[0]), event(ids[3], operator=own[1])])
    store.write([event(ids[4], operator=own[0], after=None), event(ids[5], operator=own[0])])
    group = read(store)
    assert [one.exposed for one in group.rollouts] == [False, False, True, True, False, False]
    found = {
        count: [
            round(one.advantage, 3)
            for one in assemble_batch(
                [group], configure("demo", {"curriculum.count": count}), "third", "seed"
            ).samples
        ]
        for count in ("assigned", "exposed")
    }
    # As assigned the clean arm is even; by exposure the rollout that failed unexposed counts as clean.
    assert sorted(found["assigned"]) == [-1.0, -1.0, 1.0, 1.0]
    assert sorted(found["exposed"]) == [-1.732, -1.0, 0.577, 0.577, 0.577, 1.0]


def test_a_refused_rollouts_reward_shapes_the_baseline(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0, 0.0, 0.0], turns={3: [fit_turn("g-3", fitness="no_token_ids")]})
    group = read(store)
    samples = assemble_batch([group], DEMO, "third", "seed").samples
    assert len(samples) == 3
    assert samples[0].advantage == pytest.approx(0.75 / (3 / 16) ** 0.5)


def test_a_rollout_trains_without_its_embeddings(store: SqliteStore) -> None:
    lookup = structs.replace(fit_turn("g-0", 1), fitness="nothing_sampled", prompt_ids=None, completions=())
    put(store, "g", [1.0, 0.0], turns={0: [fit_turn("g-0"), lookup]})
    rollout = read(store).rollouts[0]
    assert rollout.refused is None and [turn.index for turn in rollout.turns] == [0]


def test_the_kl_term_needs_rollouts_of_advantage_zero_too(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0, 1.0], noisy=1)
    with_kl = configure("demo", {"loss.kl": 0.1})
    assert len(assemble_batch([read(store)], with_kl, "third", "seed").samples) == 3


def test_a_rollout_that_is_too_long_does_not_train(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0], turns={0: [fit_turn("g-0"), fit_turn("g-0", index=1)]})
    group = read(store)
    batch = assemble_batch([group], configure("demo", {"max_sequence": 7}), "third", "seed")
    assert count_refusals([group], batch) == {"too_long": 1}
    assert len(batch.samples) == 1


def test_the_division_into_mini_batches_is_by_group_and_drawn_from_the_seed() -> None:
    groups = [Group(str(index), ()) for index in range(5)]
    assert divide(groups, 2) == [groups[:2], groups[2:]]
    assert divide(groups, 8) == [[group] for group in groups]
    assert divide([], 2) == []


def test_whitening_over_each_batch_and_over_the_buffer(store: SqliteStore) -> None:
    """Two groups of one success: in each alone the deviation is another than over both together."""
    put(store, "a", [1.0, 0.0])
    put(store, "b", [1.0, 0.0, 0.0, 0.0])
    groups = [read(store, "a"), read(store, "b")]

    def best(kind: str) -> list[float]:
        config = configure("noisyagent/gspo", {"whitening": kind, "optimiser.mini_batches": 2})
        parts = assemble_batch(groups, config, "third", "seed").mini_batches
        return sorted(max(sample.advantage for sample in part.samples) for part in parts)

    per_group = [1.0, 0.75 / (3 / 16) ** 0.5]
    both = ((2 * 0.5**2 + 0.75**2 + 3 * 0.25**2) / 6) ** 0.5
    assert best("none") == pytest.approx(per_group)
    assert best("batch") == pytest.approx(per_group), "one group a mini-batch: the same"
    assert best("buffer") == pytest.approx([0.5 / both, 0.75 / both])


def test_staleness_is_counted_from_the_oldest_token(store: SqliteStore) -> None:
    spans = (VersionSpan("second", 0, 1), VersionSpan("third", 1, 2))
    mixed = fit_turn("g-0", completions=(Completion(0, (5, 6), (-0.5, -0.25), "stop", spans),))
    put(store, "g", [1.0, 0.0], turns={0: [mixed]})
    rollouts: tuple[Rollout, ...] = read(store).rollouts
    assert [(rollout.staleness, rollout.refused) for rollout in rollouts] == [(1, None), (0, None)]
