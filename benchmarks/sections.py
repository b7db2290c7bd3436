"""Pages that several benchmarks write: each keeps to its own section, between two comments."""

from __future__ import annotations

import re
from pathlib import Path


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"


def list_sections(page: str) -> list[str]:
    """Every section of a page with its marks, in order."""
    return [section_of(page, name) for name in re.findall(r"^<!-- (\S+): begin -->$", page, re.MULTILINE)]


def section_of(page: str, name: str) -> str:
    """A section with its marks; empty where the page has none of this name."""
    begin, end = _marks(name)
    if begin not in page or end not in page:
        return ""
    return page[page.index(begin) : page.index(end) + len(end)]


def put_section(path: Path, name: str, text: str) -> None:
    """Write a section in the place of the one that stands there, or at the page's end."""
    begin, end = _marks(name)
    page = path.read_text() if path.exists() else ""
    new, old = f"{begin}{text.strip()}\n{end}", section_of(page, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.replace(old, new) if old else f"{page.rstrip()}\n\n{new}".lstrip())
