"""The ledger of what a session's policy was shown.

In memory a known message costs one dict look-up. The store has one row per message part, per list of tools,
and per message of the policy that the client got in another form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from crosswind.gateway.protocols.call_ids import IdPairs
from crosswind.gateway.protocols.hidden_tools import Reinsertion
from crosswind.gateway.protocols.tool_mapping import WrittenTools
from crosswind.gateway.sessions.turns import TurnPosition
from crosswind.gateway.trajectory.ledger_rows import Shown
from crosswind.injectors.conversation import Site
from crosswind.injectors.engine.decision import Decision, KnownText, NewText
from crosswind.injectors.engine.tool_list import ShownTools
from crosswind.injectors.identity import digest, normalise
from crosswind.injectors.plain_data import convert


class Ledger:
    """The ledger of one session. If the store could not be read, `complete` is False and nothing new is
    decided.
    """

    def __init__(self, rows: Iterable[Shown] = (), *, complete: bool = True) -> None:
        self.complete = complete
        self.tools: ShownTools | None = None
        """The tools as shown last."""
        self.last_tools = WrittenTools()
        self.reinsertions: dict[tuple[str, str], Reinsertion] = {}
        """What is reinserted around messages of the policy, by protocol and anchor."""
        self.changes_ids = False
        """Whether noise gave calls other ids."""
        self.answered: Counter[str] = Counter()
        """The number of calls of each tool that were answered inside, by the name that the policy saw."""
        self._known: dict[str, KnownText] = {}
        self._lists: dict[str, ShownTools] = {}
        self._tool_rows = 0
        self.learn(rows)

    @property
    def known(self) -> Mapping[str, KnownText]:
        """What was shown, by anchor."""
        return self._known

    def shown_tools(self, anchor: str) -> ShownTools | None:
        """The tools shown for the declared list of this anchor, or else those shown last."""
        return self._lists.get(anchor, self.tools)

    def reinsertion(self, protocol: str, anchor: str | None) -> Reinsertion | None:
        """What is reinserted around the message of this anchor in a history of this protocol."""
        if anchor is None:
            return None
        return self.reinsertions.get((protocol, anchor)) or self.reinsertions.get(("", anchor))

    def true_ids(self, protocol: str, anchor: str) -> IdPairs:
        """The ids of an answer's calls where noise changed them, by the anchor of its first call."""
        put = self.reinsertions.get((protocol, _ids_anchor(anchor)))
        return () if put is None else put.ids

    def learn(self, rows: Iterable[Shown]) -> None:
        """Add stored rows. Of two rows of one part the first counts: it was shown first.

        Raises ValueError if a row can't be read.
        """
        for row in rows:
            match row.site:
                case Site.TOOL_SCHEMA:
                    self._learn_tools(ShownTools.from_json(msgspec.json.decode(row.text or "{}")))
                case Site.MODEL_RESPONSE:
                    self._learn_reinsertion(
                        row.anchor, convert(msgspec.json.decode(row.text or "{}"), Reinsertion)
                    )
                case _ if row.anchor not in self._known:
                    decisions = tuple(map(Decision.from_json, row.decisions))
                    self._known[row.anchor] = KnownText(row.text, decisions)

    def add(self, new: NewText, session_id: str, place: TurnPosition) -> Shown:
        """Add what is shown for the first time. Returns the row to store with the turn."""
        item = new.item
        site = item.site
        self._known[item.anchor] = KnownText(new.text, new.decisions)
        return Shown(
            session_id=session_id,
            anchor=item.anchor,
            site=site,
            ordinal=item.ordinal,
            turn_index=place.index,
            clean_hash=clean_hash(item.text),
            decisions=tuple([one.to_json() for one in new.decisions]) if new.decisions else (),
            text=new.text,
            branch=place.branch,
        )

    def add_tools(self, shown: ShownTools, session_id: str, place: TurnPosition) -> Shown:
        self._learn_tools(shown)
        return Shown(
            session_id=session_id,
            # A list changes when a phantom leaves it: each row has its own name.
            anchor=f"{shown.anchor}@{place.index}.{self._tool_rows}",
            site=Site.TOOL_SCHEMA,
            ordinal=place.index,
            turn_index=place.index,
            clean_hash="",
            text=msgspec.json.encode(shown.to_json()).decode(),
            branch=place.branch,
        )

    def add_ids(
        self, anchor: str, ids: IdPairs, protocol: str, session_id: str, place: TurnPosition
    ) -> Shown:
        """Add the ids of an answer's calls, which noise changed."""
        put = Reinsertion(protocol=protocol, ids=ids)
        return self.add_reinsertion(_ids_anchor(anchor), put, session_id, place)

    def add_reinsertion(self, anchor: str, put: Reinsertion, session_id: str, place: TurnPosition) -> Shown:
        """Add what a message of the policy lost on its way to the client."""
        self._learn_reinsertion(anchor, put)
        return Shown(
            session_id=session_id,
            anchor=anchor,
            site=Site.MODEL_RESPONSE,
            ordinal=place.index,
            turn_index=place.index,
            clean_hash="",
            text=msgspec.json.encode(put).decode(),
            branch=place.branch,
        )

    def _learn_tools(self, shown: ShownTools) -> None:
        self._tool_rows += 1
        self.tools = self._lists[shown.anchor] = shown

    def _learn_reinsertion(self, anchor: str, put: Reinsertion) -> None:
        key = put.protocol, anchor
        if key not in self.reinsertions:
            self.reinsertions[key] = put
            self.answered.update(put.names)
            self.changes_ids |= bool(put.ids)


def _ids_anchor(anchor: str) -> str:
    """The anchor under which an answer's ids are kept: other things may be kept under its own."""
    return f"ids:{anchor}"


def clean_hash(text: str) -> str:
    """The hash under which a clean text is recorded."""
    return digest(normalise(text))
