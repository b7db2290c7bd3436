"""What is kept of tokens is bounded, and a token that occurs again is kept on."""

from __future__ import annotations

import pytest

from crosswind.injectors.text import tokens
from crosswind.injectors.text.tokens import LONGEST_TOKEN, Tokens

MOST = tokens._MOST_KEPT


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> tokens._TokenCache:
    """An empty cache, in use."""
    made = tokens._TokenCache()
    monkeypatch.setattr(tokens, "_cache", made)
    return made


def test_no_more_tokens_are_kept_than_twice_the_limit(cache: tokens._TokenCache) -> None:
    sizes = []
    for start in range(0, 5 * MOST, 64):
        Tokens(" ".join(f"word{number}" for number in range(start, start + 64)))
        sizes.append(len(cache) + len(cache.before))
    assert MOST < max(sizes) <= 2 * MOST
    assert "word0" not in cache.keys() | cache.before.keys()


def test_a_token_that_occurs_again_is_kept_on(cache: tokens._TokenCache) -> None:
    first = cache["again"]
    for number in range(3 * MOST):
        cache[f"word{number}"]
        if number % (MOST // 2) == 0:
            assert cache["again"] is first


def test_a_long_token_is_not_kept(cache: tokens._TokenCache) -> None:
    Tokens(f"{'x' * LONGEST_TOKEN} {'y' * (LONGEST_TOKEN + 1)}")
    assert [*cache, *cache.before] == ["x" * LONGEST_TOKEN]
