"""What can be said of declared tools, and of those that noise put beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.injectors.operators.worked.properties import Property
from tests.injectors.operators.worked.sample import Tool, View


def each(what: str, holds: Callable[[Tool, Tool], Any]) -> Property:
    """Every declared tool, as it was and as it is now, has this property."""
    return Property(
        what,
        lambda clean, noisy: (
            clean.declared.keys() == noisy.declared.keys()
            and all(holds(was, noisy.declared[name]) for name, was in clean.declared.items())
        ),
    )


def more(what: str, holds: Callable[[Tool, Tool, View], Any], count: int = 1) -> Property:
    """So many tools stand beside each declared one, and each has this property; `holds` takes the declared
    tool, the added one and the clean view."""

    def beside(clean: View, noisy: View) -> bool:
        pairs = [(_neighbour(clean, one), one) for one in noisy.only_noise]
        return len(pairs) == count * len(clean.tools) and all(
            was is not None and holds(was, one, clean) for was, one in pairs
        )

    return Property(what, beside)


def _neighbour(clean: View, one: Tool) -> Tool | None:
    """The declared tool whose name shares most of its beginning and end with the added one's."""

    def shared(was: Tool) -> int:
        pairs = list(zip(was.name, one.name, strict=False))
        ends = list(zip(reversed(was.name), reversed(one.name), strict=False))
        return max(_run(pairs), _run(ends))

    return max(clean.tools, key=shared, default=None)


def _run(pairs: list[tuple[str, str]]) -> int:
    return next((at for at, (left, right) in enumerate(pairs) if left != right), len(pairs))


def says_nothing(was: Tool, twin: Tool, clean: View) -> bool:
    return twin.description is None


def says_its_own(was: Tool, twin: Tool, clean: View) -> bool:
    return twin.description == was.description


def says_anothers(was: Tool, twin: Tool, clean: View) -> bool:
    return twin.description in {one.description for one in clean.tools} - {was.description}


def takes_nothing(was: Tool, twin: Tool, clean: View) -> bool:
    return not twin.parameters["properties"]


def takes_other_things(was: Tool, twin: Tool, clean: View) -> bool:
    theirs = set(twin.parameters["properties"])
    return bool(theirs) and not theirs & set(was.parameters["properties"])
