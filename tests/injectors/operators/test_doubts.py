"""A user who contradicts themselves over turns: in doubt in one message, settled in the next."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Conversation, Ref, UserText
from crosswind.injectors.engine.decide import perturb
from crosswind.injectors.engine.decision import Known, NewlyShown
from crosswind.injectors.engine.plan import CompiledRule, Plan
from crosswind.injectors.guard.bounds import Bounds
from crosswind.injectors.guard.solvability import NO_ROOM
from crosswind.injectors.identity import text_anchor
from crosswind.injectors.profiles.schedule import When
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import UserTarget

SAYS = (
    "I want to return the blue lamp of order #W2378156.",
    "Yes, please go on.",
    "Thanks, and where is my refund?",
    "Good.",
)
FIRST = When(first_call=True)


def plan(when: When = FIRST, *, seed: int = 3, **more: Any) -> Plan:
    rule = CompiledRule(
        "user.inconsistent", "user.inconsistent", 1.0, when, options={"settles": "next_message"}
    )
    return Plan("p", 1, seed, "session", "s", "noisy", rules=(rule,), **more)


def conversation(count: int, says: tuple[str, ...] = SAYS) -> Conversation:
    texts = (
        UserText(Ref(2 * at), text, text_anchor("user_text", f"{at} {text}", 0), at)
        for at, text in enumerate(says[:count])
    )
    return Conversation(tuple(texts))


def by_turns(made: Plan, turns: int = len(SAYS), spared: frozenset[int] = frozenset()) -> list[NewlyShown]:
    """The messages as a session meets them one by one; in those that are `spared` nothing is decided."""
    known: dict[str, Known] = {}
    found = []
    for count in range(1, turns + 1):
        out = perturb(made, conversation(count), known, allow_new=count - 1 not in spared)
        (new,) = out.new
        known[new.item.anchor] = Known(new.text, new.decisions)
        found.append(new)
    return found


def drawn(new: NewlyShown, member: str) -> Any:
    return new.decisions[0].draw.get(member) if new.decisions else None


def test_the_next_message_settles_it_whatever_the_schedule_says() -> None:
    first, second, third, fourth = by_turns(plan())
    (doubt,) = drawn(first, "owed")
    assert first.text is not None and first.text.startswith(SAYS[0])
    assert f"not sure any more whether it is {doubt}" in first.text and "ask me" in first.text
    assert second.text is not None and second.text.startswith(SAYS[1])
    assert second.text.endswith(f"this is final: {doubt}.")
    assert drawn(second, "settles") == drawn(second, "final") == [doubt]
    assert third.text is None and fourth.text is None


def test_one_by_one_or_all_at_once_is_the_same() -> None:
    assert perturb(plan(), conversation(4), {}).new == by_turns(plan())


def test_a_message_that_is_spared_leaves_it_to_the_one_after() -> None:
    first, second, third, fourth = by_turns(plan(), spared=frozenset({1}))
    assert first.text is not None and second.text is None and fourth.text is None
    assert drawn(third, "settles") == drawn(first, "owed")


def test_another_branch_settles_for_itself() -> None:
    first = by_turns(plan(), 1)[0]
    known = {first.item.anchor: Known(first.text, first.decisions)}
    other = Conversation((*conversation(1).items, UserText(Ref(2), "No, wait.", "text:other", 1)))
    (new,) = perturb(plan(), other, known).new
    assert drawn(new, "settles") == drawn(first, "owed")


def test_where_nobody_answers_it_is_settled_in_the_same_message() -> None:
    first, *later = by_turns(plan(user_can_answer=False))
    assert first.text is not None and "To settle it, and this is final" in first.text
    assert drawn(first, "owed") is None and all(new.text is None for new in later)


def test_bounds_keep_room_for_settling() -> None:
    tight, roomy = (plan(bounds=Bounds(events_per_session=most)) for most in (1, 2))
    first, *later = by_turns(tight)
    assert first.text is None and all(new.text is None for new in later)
    assert NO_ROOM in first.injections[0].note
    assert [new.text is not None for new in by_turns(roomy)] == [True, True, False, False]


@given(st.integers(0, 10_000), st.sets(st.integers(0, 3)), st.sampled_from([FIRST, When(), When(every=2)]))
def test_nothing_is_settled_that_wasnt_in_doubt_and_no_doubt_outlives_the_next_message(
    seed: int, spared: set[int], when: When
) -> None:
    owed: set[str] = set()
    for at, new in enumerate(by_turns(plan(when, seed=seed), spared=frozenset(spared))):
        settles = set(drawn(new, "settles") or ())
        assert settles == (owed if at not in spared else set())
        owed = (owed - settles) | set(drawn(new, "owed") or ())


def test_what_can_be_asked_for_is_withheld_only_where_somebody_answers() -> None:
    ambiguous = registry.resolve("user.ambiguous")
    text = "Please send me exactly the status of order #W2378156."
    protected = ((text.index("#"), text.index("#") + 9),)
    for answers in (True, False):
        target = UserTarget(text, 0, protected, user_can_answer=answers)
        draws = [ambiguous.draw({}, target, Stream(str(seed)), 1.0) for seed in range(20)]
        assert any(draw and draw["withheld"] for draw in draws) is answers
