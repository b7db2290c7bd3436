"""What can be said of a worked example: each a comparison of the clean view with the noisy one.

Every property is about a change, so that it fails where nothing was done: what is *kept* is kept in a text
that was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.injectors.operators.worked.sample import Sample, View, in_order

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


def query_whole() -> Property:
    """Every word of the query is still there, in its order, among others."""
    return Property(
        "kept: every word of the query, in its order",
        lambda clean, noisy: clean.query != noisy.query and in_order(clean.query, noisy.query),
    )


def added(what: str, holds: Callable[[str], bool]) -> Property:
    """What follows the query as it was has this property."""

    def follows(clean: View, noisy: View) -> bool:
        behind = noisy.query.removeprefix(clean.query)
        return behind not in ("", noisy.query) and holds(behind)

    return Property(f"added: {what}", follows)


def results_alone() -> Property:
    """The noise is in the result: query and tools are as they were."""
    return Property(
        "kept: query and tools",
        lambda clean, noisy: (
            clean.first != noisy.first and (clean.query, clean.tools) == (noisy.query, noisy.tools)
        ),
    )


def truth_again() -> Property:
    """The same call made again returns the truth that the first call didn't."""
    return Property(
        "solvable: the second call tells the truth",
        lambda clean, noisy: clean.first != noisy.first and clean.again == noisy.again,
    )


def query_alone() -> Property:
    """The noise is in the query: tools and results are as they were."""
    return Property(
        "kept: tools and results",
        lambda clean, noisy: (
            clean.query != noisy.query
            and (clean.tools, clean.first, clean.again) == (noisy.tools, noisy.first, noisy.again)
        ),
    )


def tools_alone() -> Property:
    """The noise is in the tools: query and results are as they were."""
    return Property(
        "kept: query and results",
        lambda clean, noisy: (
            clean.tools != noisy.tools
            and (clean.query, clean.first, clean.again) == (noisy.query, noisy.first, noisy.again)
        ),
    )
