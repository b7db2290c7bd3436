"""What a session was shown: in memory one dict look-up per known message, in the store one row per message
part, per list of tools, and per message of the policy's that the client got in another form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from crosswind.gateway.protocols.hidden_tools import Reinsertion
from crosswind.gateway.protocols.tool_mapping import WrittenTools
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.injectors.conversation import InstructionText, Site, ToolResult, UserText
from crosswind.injectors.engine.decision import Decision, Known, NewlyShown
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.identity import digest, normalise

_SITES = {
    UserText: Site.USER_TEXT,
    ToolResult: Site.TOOL_RESULT,
    InstructionText: Site.INSTRUCTIONS,
}


class Ledger:
    """The ledger of one session. `complete` is False where the store could not be read: then nothing new is
    decided.
    """

    def __init__(self, rows: Iterable[Shown] = (), *, complete: bool = True) -> None:
        self.complete = complete
        self.tools: ShownTools | None = None
        """The tools as they were shown last."""
        self.last_tools = WrittenTools()
        self.put_back: dict[tuple[str, str], Reinsertion] = {}
        """What is put back around messages of the policy's, by their protocol and anchor."""
        self.answered: Counter[str] = Counter()
        """How many calls of each tool were answered inside, by the name that the policy saw."""
        self._known: dict[str, Known] = {}
        self._lists: dict[str, ShownTools] = {}
        self._tool_rows = 0
        self.learn(rows)

    @property
    def known(self) -> Mapping[str, Known]:
        """What was shown, by anchor."""
        return self._known

    def shown_tools(self, anchor: str) -> ShownTools | None:
        """What was shown for the declared list of this anchor, else what was shown last."""
        return self._lists.get(anchor, self.tools)

    def reinsertion(self, protocol: str, anchor: str | None) -> Reinsertion | None:
        """What is put back around the message of this anchor, in a history of this protocol."""
        if anchor is None:
            return None
        return self.put_back.get((protocol, anchor)) or self.put_back.get(("", anchor))

    def learn(self, rows: Iterable[Shown]) -> None:
        """Take in what is stored. Of two rows of one part the first one counts: it was shown first.

        ValueError where a row can't be read.
        """
        for row in rows:
            match row.site:
                case Site.TOOL_SCHEMA:
                    self._take_tools(ShownTools.from_json(msgspec.json.decode(row.text or "{}")))
                case Site.MODEL_RESPONSE:
                    self._take_put_back(row.anchor, msgspec.json.decode(row.text or "{}", type=Reinsertion))
                case _ if row.anchor not in self._known:
                    self._known[row.anchor] = Known(row.text, _decisions(row))

    def add(self, new: NewlyShown, *, session_id: str, turn: int, branch: str) -> Shown:
        """Remember what is shown for the first time; gives the row to store with the turn."""
        item = new.item
        site = _SITES[type(item)]
        self._known[item.anchor] = Known(new.text, new.decisions)
        return Shown(
            session_id=session_id,
            anchor=item.anchor,
            site=site,
            ordinal=item.ordinal,
            turn_index=turn,
            clean_hash=clean_hash(item.text),
            decisions=tuple(decision.to_json() for decision in new.decisions),
            text=new.text,
            branch=branch,
        )

    def add_tools(self, shown: ShownTools, *, session_id: str, turn: int, branch: str) -> Shown:
        """Remember how a list of tools is shown from now on."""
        self._take_tools(shown)
        return Shown(
            session_id=session_id,
            # A list is shown otherwise later on where a phantom left it: each row has its own name.
            anchor=f"{shown.anchor}@{turn}.{self._tool_rows}",
            site=Site.TOOL_SCHEMA,
            ordinal=turn,
            turn_index=turn,
            clean_hash="",
            text=msgspec.json.encode(shown.to_json()).decode(),
            branch=branch,
        )

    def add_put_back(
        self, anchor: str, put: Reinsertion, *, session_id: str, turn: int, branch: str
    ) -> Shown:
        """Remember what a message of the policy's lost on its way to the client."""
        self._take_put_back(anchor, put)
        return Shown(
            session_id=session_id,
            anchor=anchor,
            site=Site.MODEL_RESPONSE,
            ordinal=turn,
            turn_index=turn,
            clean_hash="",
            text=msgspec.json.encode(put).decode(),
            branch=branch,
        )

    def _take_tools(self, shown: ShownTools) -> None:
        self._tool_rows += 1
        self.tools = self._lists[shown.anchor] = shown

    def _take_put_back(self, anchor: str, put: Reinsertion) -> None:
        key = put.protocol, anchor
        if key not in self.put_back:
            self.put_back[key] = put
            self.answered.update(put.names)


def clean_hash(text: str) -> str:
    """The hash under which a clean text is recorded."""
    return digest(normalise(text))


def _decisions(row: Shown) -> tuple[Decision, ...]:
    return tuple(Decision.from_json(decision) for decision in row.decisions)
