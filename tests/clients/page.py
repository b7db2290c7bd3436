"""The matrix as a page."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.clients.job import Row
from tests.clients.kinds import KINDS
from tests.clients.versions import version

OFF = "off"
COLUMNS = (OFF, *(kind.name for kind in KINDS))

HEAD = """\
# Clients

`make clients` led the dialogue of each line below and wrote this page: two questions, each with one tool
call and then two at once, against a scripted provider that refuses what the real one refuses. Every client
is the released one, unmodified; it was given a base URL and a key, nothing else. Coding agents' traffic is
replayed from scripts in the shape of theirs.

- **off**: led twice, against the provider itself and through the gateway. The provider saw the same
  requests (method, path, the headers but for those of one connection, the body byte for byte), and the
  client came to the same answers, calls and history.
- **users** to **slow links** are kinds of noise: the client got its task done with tools that it declared
  itself; the policy was shown the noise, and was shown it again at the same places in every later turn. The
  provider refused nothing, and every call came back to it as it was made.
- **broken links** and **failing provider**: answers don't come, or come unusable. The client asked again, as
  applications do, and got its task done; only that is held.

"""

TRANSCRIPTS = """
## Agents that write calls as text

Some agents declare no tools. They write calls and results as text of messages: smolagents ("Calling
tools: […]", "Observation: …"), DSPy (`[[ ## field ## ]]`) and ReAct prompts ("Action: …", "Observation:
…"). The gateway recognises these formats by itself. It takes their calls and results for what they are,
and results get the tools' noise. A call names only its tool, so say what the tool does, with
`--tools-read-only` or `tool_classes` ([profiles.md](profiles.md#what-a-tool-does)). Markers,
instructions and the model's own words stay as they are. If a result can't be matched with its call,
faults are withheld, and an event says so. Another format is one file in `gateway/transcripts/formats/`.
"""

KEY = """
`yes`: held. `no`: didn't. `–`: this kind of noise doesn't touch that protocol or client.
"""


@dataclass(slots=True)
class Line:
    """A row in one mode. A cell holds what was wrong with it, or None."""

    row: Row
    mode: str
    cells: dict[str, str | None] = field(default_factory=dict)

    @property
    def red(self) -> dict[str, str]:
        return {name: wrong for name, wrong in self.cells.items() if wrong is not None}

    def shown(self, column: str) -> str:
        if column not in self.cells:
            return "–"
        return "yes" if self.cells[column] is None else "**no**"

    def told(self) -> str:
        """The line as it is told while the matrix runs, with what was wrong."""
        cells = "  ".join(f"{column}: {self.shown(column).strip('*')}" for column in COLUMNS)
        wrong = "".join(f"\n    {name}: {reason}" for name, reason in self.red.items())
        return f"{self.row.name}, {self.mode}:  {cells}{wrong}"


def page(lines: list[Line]) -> str:
    """The page. Its order is that of the lines, which is the same in every run."""
    head = ["client", "version", "protocol", "answers", *COLUMNS]
    table = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in lines:
        row = line.row
        cells = [row.client, version(row.package), row.protocol, line.mode, *map(line.shown, COLUMNS)]
        table.append("| " + " | ".join(cells) + " |")
    return HEAD + "\n".join(table) + "\n" + KEY + TRANSCRIPTS
