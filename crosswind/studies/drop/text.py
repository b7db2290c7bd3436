"""Sections as plain text for a terminal, as Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence

from crosswind.gateway.columns import find_width
from crosswind.studies.drop.sections import Section

MOST_ROWS = 20
_GAP = _INDENT = "  "
_NARROWEST = 12
"""Columns of text aren't cut below this width."""


def write_text(sections: Sequence[Section], width: int | None = None) -> str:
    """The sections for a terminal. Details are left out, and long tables end with how many rows there are."""
    width = width or find_width()
    blocks = []
    for section in sections:
        if section.detail:
            continue
        lines = [_wrap(line, width) for line in section.lines]
        if section.heads:
            lines = [
                *_table(section, width),
                *([_wrap(section.about, width)] if section.about else []),
            ]
        blocks.append("\n".join([section.title, *lines] if section.heads else lines or [section.title]))
    return "\n\n".join(blocks) + "\n"


def _wrap(text: str, width: int) -> str:
    """Lines of text; an option such as `--tools-read-only` stays in one piece."""
    return textwrap.fill(text, width, break_on_hyphens=False)


def _table(section: Section, width: int) -> list[str]:
    shown = section.rows[:MOST_ROWS]
    rows = [section.heads, *shown]
    whole = [max(len(row[place]) for row in rows) for place in range(len(section.heads))]
    left = [place == 0 or _is_text(section, place) for place in range(len(whole))]
    gap = _GAP if sum(whole) + len(_GAP) * (len(whole) - 1) <= width else " "
    # The widest columns of text give way; where that isn't enough, each row takes several lines.
    widths = list(whole)
    while sum(widths) + len(gap) * (len(widths) - 1) > width:
        wide = max((w, place) for place, w in enumerate(widths) if left[place])
        if wide[0] <= _NARROWEST:
            widths = [min(size, width - len(_INDENT)) for size in whole]
            break
        widths[wide[1]] -= 1
    fits = sum(widths) + len(gap) * (len(widths) - 1) <= width
    lines = []
    for row in rows:
        cells = [_fit(cell, size) for cell, size in zip(row, widths, strict=True)]
        padded = [
            cell.ljust(size) if is_left else cell.rjust(size)
            for cell, size, is_left in zip(cells, widths, left, strict=True)
        ]
        lines += [gap.join(padded).rstrip()] if fits else _fold(padded, width)
    if len(section.rows) > len(shown):
        lines.append(f"… and {len(section.rows) - len(shown):,} more")
    return lines


def _fold(cells: Sequence[str], width: int) -> list[str]:
    """A row in several lines: its name, and below that the other cells."""
    name, *rest = cells
    lines = [name] if name.strip() else []
    folded = ""
    for cell in rest:
        if folded and len(folded) + 1 + len(cell) > width:
            lines.append(folded)
            folded = ""
        folded = f"{folded} {cell}" if folded else _INDENT + cell
    return [line.rstrip() for line in (*lines, folded) if line.strip()]


def _is_text(section: Section, place: int) -> bool:
    return section.heads[place].endswith("session") or (
        section.heads[place] in ("", "met", "void") and any(row[place][:1].isalpha() for row in section.rows)
    )


def _fit(cell: str, width: int) -> str:
    """The cell, shortened in its middle: names differ at both ends."""
    if len(cell) <= width:
        return cell
    tail = (width - 1) // 2
    return f"{cell[: width - 1 - tail]}…{cell[len(cell) - tail :] if tail else ''}"


def write_markdown(sections: Sequence[Section], title: str) -> str:
    """The sections for a pull request's comment: the answer in sight, details folded."""
    lines = [f"## {title}", ""]
    for section in sections:
        if not section.heads:
            lines += [part for line in section.lines for part in (_escape(line), "")]
            continue
        folded = section.detail or len(section.rows) > MOST_ROWS
        heading = f"{section.title} ({len(section.rows)})" if folded else section.title
        lines += ["<details>", f"<summary>{heading}</summary>", ""] if folded else [f"### {heading}", ""]
        lines.append("| " + " | ".join(_escape(head) for head in section.heads) + " |")
        lines.append("|" + "|".join(["---", *["---:"] * (len(section.heads) - 1)]) + "|")
        lines += ["| " + " | ".join(_escape(cell) for cell in row) + " |" for row in section.rows]
        lines += ["", *([_escape(section.about), ""] if section.about else [])]
        lines += ["</details>", ""] if folded else []
    return "\n".join(lines).rstrip() + "\n"


_MARKED = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>|#"})


def _escape(text: str) -> str:
    """Names of tasks and tools are somebody else's words: nothing in them is markup."""
    return " ".join(text.split()).translate(_MARKED)


def write_csv(sections: Sequence[Section]) -> str:
    """All tables below each other, each row with its table's title: cells as they are shown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for section in sections:
        if section.heads:
            writer.writerow(["table", *section.heads])
            writer.writerows([section.title, *(_defuse(cell) for cell in row)] for row in section.rows)
    return out.getvalue()


def _defuse(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay."""
    if cell[:1] in ("=", "@", "\t", "\r") or (cell[:1] in ("+", "-") and not _is_number(cell)):
        return f"'{cell}"
    return cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
