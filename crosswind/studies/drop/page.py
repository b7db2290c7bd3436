"""Sections as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from crosswind.studies.drop.sections import Section


def write_page(sections: Sequence[Section], title: str, gate: Sequence[str] = ()) -> str:
    """The page. `gate` has a sentence for each goal."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    page = Environment(
        loader=PackageLoader("crosswind.studies.drop", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    ).get_template("page.html.jinja")
    return page.render(title=title, sections=sections, gate=gate)
