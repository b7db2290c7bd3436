from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Event
from typing import Any

import orjson
import pytest
from msgspec import structs

from crosswind.gateway.trajectory.content import View
from crosswind.gateway.trajectory.record import (
    Arm,
    Completion,
    Reward,
    RewardState,
    Row,
    SessionClosed,
    SessionMarked,
    Turn,
    VersionSpan,
)
from crosswind.gateway.trajectory.sqlite.store import SqliteStore
from crosswind.trainer.config.settings import configure
from crosswind.trainer.rollouts.assembly import assemble_batch, count_refusals, divide
from crosswind.trainer.rollouts.cursor import GroupCursor
from crosswind.trainer.rollouts.groups import Admission, Group, Rollout, read_group
from crosswind.trainer.rollouts.source import GroupSource, NoGroups, TakenGroups
from tests.gateway.trajectory.rows import event
from tests.trainer.practice import CLOCK, FIRST, chain, session, turn

ADMISSION = Admission({FIRST: 0, "second": 1, "third": 2}, staleness=1, temperature=1.0, vocabulary=500)
DEMO = configure("demo", {})


def fit_turn(session_id: str, index: int = 0, version: str = "third", **fields: Any) -> Turn:
    done = Completion(0, (5, 6), (-0.5, -0.25), "stop", (VersionSpan(version, 0, 2),))
    prompt = [1, 2, 3] if index == 0 else [1, 2, 3, 5, 6, 7]
    return structs.replace(turn(session_id, index, prompt, done), **fields)


def put(
    store: SqliteStore,
    group: str,
    rewards: Sequence[float],
    *,
    noisy: int = 0,
    turns: dict[int, Sequence[Turn]] | None = None,
    labels: dict[str, Any] | None = None,
) -> None:
    """A closed, rewarded group; `turns` replaces the turns of single rollouts."""
    for index, reward in enumerate(rewards):
        arm = Arm.NOISY if index >= len(rewards) - noisy else Arm.CLEAN
        opened = session(group, index, len(rewards), arm=arm, labels=labels or {"purpose": "train"})
        own = (turns or {}).get(index, [fit_turn(opened.id)])
        rows: list[Row] = [
            opened,
            *own,
            Reward(opened.id, next(CLOCK), reward),
            SessionClosed(opened.id, next(CLOCK)),
        ]
        store.write(rows)


def read(store: SqliteStore, group: str = "g") -> Group:
    return read_group(group, store.group(group), ADMISSION)


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


def test_groups_with_equal_rewards_are_refilled_up_to_a_bound(store: SqliteStore) -> None:
    for number, rewards in enumerate([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.5, 0.0]]):
        put(store, f"g{number}", rewards)
    source = GroupSource(store, {}, poll_seconds=0.01)
    refilled = source.take(2, ADMISSION, Event(), most=6, wait_seconds=5)
    assert refilled is not None and [group.id for group in refilled.groups] == ["g0", "g1", "g2", "g3"]
    again = GroupSource(store, {}, poll_seconds=0.01)
    bounded = again.take(2, ADMISSION, Event(), most=3, wait_seconds=5)
    assert bounded is not None and [group.id for group in bounded.groups] == ["g0", "g1", "g2"]

    scales = {}
    for refill in ("off", "groups"):
        config = configure("demo", {"refill": refill, "optimiser.mini_batches": 1})
        batch = assemble_batch(refilled.groups, config, "third", "seed")
        assert batch.filtered_groups == 2
        scales[refill] = batch.mini_batches[0].scale.rollouts
    assert scales == {"off": 8, "groups": 4}, "the mean is over the groups that were taken instead"


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


def take(source: GroupSource, wanted: int) -> TakenGroups:
    taken = source.take(wanted, ADMISSION, Event())
    assert taken is not None
    return taken


def ids(taken: TakenGroups) -> list[str]:
    return [group.id for group in taken.groups]


def test_groups_are_taken_in_the_order_of_their_completion_and_once(store: SqliteStore) -> None:
    for name in ("c", "a", "b"):
        put(store, name, [1.0, 0.0])
    source = GroupSource(store, {}, poll_seconds=0.001)
    assert ids(take(source, 2)) == ["c", "a"]
    assert ids(take(source, 1)) == ["b"]


def test_evaluations_and_foreign_labels_are_passed_over(store: SqliteStore) -> None:
    put(store, "eval", [1.0, 0.0], labels={"purpose": "eval"})
    put(store, "theirs", [1.0, 0.0], labels={"purpose": "train", "run": "theirs"})
    put(store, "ours", [1.0, 0.0], labels={"purpose": "train", "run": "ours"})
    taken = take(GroupSource(store, {"run": "ours"}), 1)
    assert (ids(taken), taken.reasons) == (["ours"], {})


def test_labels_that_are_no_texts_are_named_as_json_writes_them(store: SqliteStore) -> None:
    put(store, "ours", [1.0, 0.0], labels={"stage": 2, "warm": True, "after": None})
    put(store, "later", [1.0, 0.0], labels={"stage": 3, "warm": True, "after": None})
    named = {"stage": "2", "warm": "true", "after": "null"}
    assert ids(take(GroupSource(store, named), 1)) == ["ours"]
    with pytest.raises(NoGroups):
        GroupSource(store, {"missing": "null"}).take(1, ADMISSION, Event(), wait_seconds=0.01)


def test_a_lost_rollout_does_not_lose_its_group(store: SqliteStore) -> None:
    """One whose reward expired, and one that was never opened; both are counted."""
    put(store, "g", [1.0, 0.0, 0.0, 1.0])
    lost = [session("g2", index, 4, labels={"purpose": "train"}) for index in range(3)]
    for index, opened in enumerate(lost):
        store.write([opened, fit_turn(opened.id), SessionClosed(opened.id, next(CLOCK))])
        if index < 2:
            store.write([Reward(opened.id, next(CLOCK), float(index))])
    store.write([SessionMarked(lost[2].id, reward_state=RewardState.EXPIRED)])
    assert ids(take(GroupSource(store, {}), 1)) == ["g"], "a rollout of g2 may still be opened"
    patient = GroupSource(store, {}, group_deadline=3600)
    assert ids(take(patient, 1)) == ["g"]
    with pytest.raises(NoGroups):
        patient.take(1, ADMISSION, Event(), wait_seconds=0.01)
    taken = take(GroupSource(store, {}, patient.cursor, group_deadline=1e-6), 1)
    assert ids(taken) == ["g2"]
    assert taken.groups[0].rewards == [0.0, 1.0] and taken.groups[0].trainable == [0, 1]
    assert sorted(taken.groups[0].left_out) == ["never_opened", "reward_expired"]


def test_a_group_waits_for_the_events_of_its_tool_legs(store: SqliteStore) -> None:
    put(store, "g", [1.0, 0.0])
    put(store, "of-a-leg", [1.0, 0.0])
    late = store.group("of-a-leg")[0].session.id
    store.write([SessionMarked(late, labels={"crosswind.leg.a1": "open"})])
    source = GroupSource(store, {}, poll_seconds=0.01, leg_deadline=1e9)
    assert ids(take(source, 1)) == ["g"]
    with pytest.raises(NoGroups):
        source.take(1, ADMISSION, Event(), wait_seconds=0.01)
    impatient = GroupSource(store, {}, GroupCursor.from_json(source.cursor.to_json()), leg_deadline=0)
    assert ids(take(impatient, 1)) == ["of-a-leg"]
    store.write([SessionMarked(late, labels={"crosswind.leg.a1": "ended"})])
    assert ids(take(source, 1)) == ["of-a-leg"]


def test_a_group_without_a_rollout_that_trains_is_dropped_and_counted(store: SqliteStore) -> None:
    put(
        store,
        "old",
        [1.0, 0.0],
        turns={index: [fit_turn(f"old-{index}", version=FIRST)] for index in range(2)},
    )
    put(store, "new", [1.0, 0.0])
    taken = take(GroupSource(store, {}), 1)
    assert (taken.reasons, ids(taken)) == ({"stale": 1}, ["new"])


def test_waiting_ends_when_told_to_or_after_the_time_given(store: SqliteStore) -> None:
    source = GroupSource(store, {}, poll_seconds=0.001)
    (stop := Event()).set()
    assert source.take(1, ADMISSION, stop) is None
    with pytest.raises(NoGroups, match=r"no group completed for 0.01 s \(0 of 1 are there\)"):
        source.take(1, ADMISSION, Event(), wait_seconds=0.01)


def test_staleness_is_counted_from_the_oldest_token(store: SqliteStore) -> None:
    spans = (VersionSpan("second", 0, 1), VersionSpan("third", 1, 2))
    mixed = fit_turn("g-0", completions=(Completion(0, (5, 6), (-0.5, -0.25), "stop", spans),))
    put(store, "g", [1.0, 0.0], turns={0: [mixed]})
    rollouts: tuple[Rollout, ...] = read(store).rollouts
    assert [(rollout.staleness, rollout.refused) for rollout in rollouts] == [(1, None), (0, None)]
