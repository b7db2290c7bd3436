"""The page of examples shows what the operators do now."""

from __future__ import annotations

from crosswind.injectors.text.languages import Language
from tests.catalogue import examples


def test_the_page_is_up_to_date_and_has_ten_messages_in_every_language() -> None:
    said = examples.messages()
    assert set(said) == set(Language)
    assert all(list(by_agent) == list(examples.TOOLS) for by_agent in said.values())
    assert examples.PAGE.read_text("utf-8") == examples.write_page(), "make catalogue writes it again"
