"""Every row of the catalogue has its operators, every operator its row, and the page is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosswind.injectors import registry
from tests.catalogue import table
from tests.catalogue.probing import find_protocols


def test_every_row_has_its_operators_and_no_operator_is_in_two() -> None:
    listed = [operator for kind in table.kinds() for operator in kind.operators]
    assert all(kind.operators for kind in table.kinds())
    assert [name for name in listed if name not in registry.operators()] == []
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("kind", table.kinds(), ids=lambda kind: f"{kind.section}: {kind.noise}")
def test_every_operator_of_a_row_is_tested_and_in_a_profile_or_is_beyond_the_papers(kind: table.Kind) -> None:
    for operator in kind.operators:
        assert table.tests_of(operator) or kind.papers == "+", operator


async def test_the_page_is_up_to_date_and_every_operator_acts_somewhere(tmp_path: Path) -> None:
    protocols = await find_protocols(tmp_path)
    conversing = {"chat", "responses", "messages"}
    # Silent no-ops need a place before a call, and the links have theirs behind it.
    absent = ["tool.silent_noop"]
    assert [name for name, found in protocols.items() if not conversing.issubset(found)] == absent
    assert table.PAGE.read_text("utf-8") == table.page(protocols), "make catalogue"
