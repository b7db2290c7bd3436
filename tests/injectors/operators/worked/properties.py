"""What can be said of a worked example: each a comparison of the clean view with the noisy one.

Every property is about a change, so that it fails where nothing was done: what is *kept* is kept in a text
that was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.injectors.operators.worked.sample import Sample, Tool, View, in_order

Holds = Callable[[View, View], bool]


@dataclass(frozen=True, slots=True)
class Property:
    """One thing that must hold, with what it is called in a failure."""

    what: str
    holds: Holds


@dataclass(frozen=True, slots=True)
class Example:
    """A row of a paper's appendix: our sample in its kind, the noise, and what must come of it.

    `solvability` says where the paper's own example breaks the rule that the task stays solvable, and what is
    done instead; the properties hold that, too.
    """

    row: str
    sample: Sample
    noise: str
    properties: tuple[Property, ...]
    solvability: str = ""


def dropped(*phrases: str) -> Property:
    """None of these phrases of the query is left."""
    return Property(
        f"dropped: {', '.join(phrases)}",
        lambda clean, noisy: all(one in clean.query and one not in noisy.query for one in phrases),
    )


def kept(*phrases: str) -> Property:
    """These phrases stand in the query, though it isn't what it was."""
    return Property(
        f"kept: {', '.join(phrases)}",
        lambda clean, noisy: clean.query != noisy.query and all(one in noisy.query for one in phrases),
    )


QUERY_WHOLE = Property(
    "kept: every word of the query, in its order",
    lambda clean, noisy: clean.query != noisy.query and in_order(clean.query, noisy.query),
)


def added(what: str, holds: Callable[[str], bool]) -> Property:
    """What follows the query as it was has this property."""

    def follows(clean: View, noisy: View) -> bool:
        behind = noisy.query.removeprefix(clean.query)
        return behind not in ("", noisy.query) and holds(behind)

    return Property(f"added: {what}", follows)


def only_in(part: str) -> Property:
    """The noise is in the query, the tools or the results; the rest is unchanged."""

    def holds(clean: View, noisy: View) -> bool:
        was, now = (
            {"query": view.query, "tools": view.tools, "results": (view.first, view.again)}
            for view in (clean, noisy)
        )
        return was.pop(part) != now.pop(part) and was == now

    return Property(f"kept: everything but the {part}", holds)


TRUTH_AGAIN = Property(
    "solvable: the second call tells the truth",
    lambda clean, noisy: clean.first != noisy.first and clean.again == noisy.again,
)


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
