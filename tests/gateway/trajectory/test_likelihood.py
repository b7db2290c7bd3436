"""The likeliest tokens at each place, kept as the engine gave them, and the entropy that they tell of."""

from __future__ import annotations

from math import exp, inf, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.trajectory.likelihood import pack_top, step_entropy, turn_entropy, unpack_top
from crosswind.gateway.trajectory.record import Completion

_LOGPROB = st.floats(max_value=0.0, width=32, allow_nan=False)
_PLACE = st.lists(st.tuples(st.integers(0, 2**31 - 1), _LOGPROB), max_size=21).map(tuple)


@given(st.lists(_PLACE, max_size=6).map(tuple))
def test_places_come_back_as_they_were(places: tuple[tuple[tuple[int, float], ...], ...]) -> None:
    assert unpack_top(pack_top(places)) == places


@given(st.lists(st.floats(-20, 5), min_size=2, max_size=30), st.integers(1, 30))
def test_the_likeliest_tokens_bound_the_entropy_from_below(logits: list[float], top: int) -> None:
    logprobs = torch.log_softmax(torch.tensor(logits, dtype=torch.float64), dim=0)
    whole = float(-(logprobs.exp() * logprobs).sum())
    likeliest = sorted(enumerate(logprobs.tolist()), key=lambda pair: -pair[1])[:top]
    found = step_entropy(likeliest)
    assert -1e-9 <= found <= whole + 1e-9
    if top >= len(logits) - 1:
        assert found == pytest.approx(whole, abs=1e-9)


def test_a_token_that_can_not_be_sampled_adds_nothing() -> None:
    assert step_entropy([(1, log(0.5)), (2, log(0.5)), (3, -inf)]) == pytest.approx(log(2))


def test_a_turns_entropy_says_how_it_was_estimated() -> None:
    even = ((1, log(0.5)), (2, log(0.5)))
    whole = Completion(0, (1, 2), (log(0.5), log(0.5)), top_logprobs=(even, even))
    assert (found := turn_entropy([whole])) is not None
    assert (found.nats, found.estimate, found.tokens) == (pytest.approx(log(2)), "top_k", 2)
    sampled = turn_entropy([whole, Completion(1, (3,), (-1.5,))])
    assert sampled is not None and sampled.estimate == "sampled"
    assert exp(-sampled.nats * 3) == pytest.approx(exp(2 * log(0.5) - 1.5))
    assert turn_entropy([Completion(0)]) is None
