"""Whether a frame shows a masked secret: small ones are cached, and no cache holds whole bodies."""

from __future__ import annotations

import pytest

from crosswind.gateway.recorder.redaction import MASK
from crosswind.gateway.turn import exchange


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    exchange._small_shows_mask.cache_clear()


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_frame_is_kept_up_to_a_size(beyond: int) -> None:
    frame = (b"x" * (exchange._LARGEST_KEPT - 2), None, b"yz" + b"!" * beyond)
    assert not exchange._shows_mask(frame)
    assert exchange._small_shows_mask.cache_info().currsize == 1 - beyond


@pytest.mark.parametrize("size", [8, 2 * exchange._LARGEST_KEPT])
def test_a_mask_is_found_in_a_frame_of_any_size(size: int) -> None:
    assert exchange._shows_mask((b"x" * size, None, b"a " + MASK + b" b"))
    assert not exchange._shows_mask((b"x" * size, None, b"a b"))
