"""What a session was shown: in memory one dict look-up per known message, in the store one row per message
part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateway.trajectory.record import Shown
from injectors.conversation import Site, UserText
from injectors.decide import Decision, Known, NewlyShown
from injectors.identity import digest, normalise


class Ledger:
    """The ledger of one session. `complete` is False where the store could not be read: then nothing new is
    decided.
    """

    def __init__(self, rows: Iterable[Shown] = (), *, complete: bool = True) -> None:
        self.complete = complete
        self._known: dict[str, Known] = {}
        self.learn(rows)

    def learn(self, rows: Iterable[Shown]) -> None:
        """Take in what is stored. Of two rows of one part the first one counts: it was shown first."""
        for row in rows:
            if row.anchor not in self._known:
                self._known[row.anchor] = Known(row.text, _decisions(row))

    @property
    def known(self) -> Mapping[str, Known]:
        """What was shown, by anchor."""
        return self._known

    def add(self, new: NewlyShown, *, session_id: str, turn: int, branch: str) -> Shown:
        """Remember what is shown for the first time; gives the row to store with the turn."""
        item = new.item
        site = Site.USER_TEXT if isinstance(item, UserText) else Site.TOOL_RESULT
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


def clean_hash(text: str) -> str:
    """The hash under which a clean text is recorded."""
    return digest(normalise(text))


def _decisions(row: Shown) -> tuple[Decision, ...]:
    return tuple(Decision.from_json(decision) for decision in row.decisions)
