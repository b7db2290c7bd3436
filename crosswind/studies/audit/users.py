"""What becomes of users' texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from crosswind.gateway.trajectory.record import Event
from crosswind.studies.audit import words
from crosswind.studies.audit.reading import AuditedSession, Found, Piece

LATEST = 3
"""By so many messages of the user's later a doubt is settled (NoisyAgent: within 2 to 3 turns)."""


def check_entities(audited: AuditedSession) -> Found:
    """A user's figures, codes, addresses, quotations and negations survive in what is shown in the end, and
    none is made up; what is left out is named, is one thing, and comes when the user is asked."""
    for piece in audited.user_texts():
        if piece.masked or not piece.events:
            continue
        if not any("observations" in event.draw for event in piece.events):
            yield from _find_broken_facts(piece)
            continue
        # What is put into an observation may be numbered: observations have a guarantee of their own.
        for event in piece.events:
            if "observations" not in event.draw:
                yield from _find_broken_facts(Piece(piece.anchor, piece.ref, event.before, events=(event,)))


def _find_broken_facts(piece: Piece) -> Found:
    """What is wrong with the text that is shown in the end, each with the event that brought it."""
    asked = [event for event in piece.events if event.recovery == "ask_user"]
    withheld = [value for event in asked for value in event.draw.get("withheld", ())]
    coarse = [value for event in asked for value in event.draw.get("coarse", ())]
    corrected = _list_corrected(piece)
    for lost in words.find_missing(piece.clean, piece.shown, corrected):
        event = _first(piece, partial(_lacks, piece.clean, corrected, lost))
        if len(withheld) > 1 or not (withheld or coarse):
            yield event, event.turn_index, f"{lost!r:.60} is lost"
            break
        if lost not in str([*withheld, *coarse]):
            yield event, event.turn_index, f"{lost!r:.60} is lost, which isn't what was withheld"
    if (quoted := words.find_added_behind(piece.clean, piece.shown)) is not None:
        event = _first(piece, partial(_adds_behind, piece.clean))
        yield event, event.turn_index, f"something was added to {quoted!r:.60}, which isn't closed"
    # Who settles a doubt says again what was in doubt; below it is seen to that it was. A rival and a coarse
    # form are the draw's own.
    settled = [str(value) for event in piece.events for value in event.draw.get("settles", ())]
    drawn = [
        str(edit.get("now")) for event in piece.events if "phrases" in event.draw for edit in _edits(event)
    ]
    for made in words.find_made_up(" ".join((piece.clean, *settled, *drawn)), piece.shown):
        event = _first(piece, partial(_has_word, made))
        yield event, event.turn_index, f"{made!r:.60} is made up"


def _edits(event: Event) -> Iterator[Mapping[str, object]]:
    yield from event.draw.get("edits", ())


def _first(piece: Piece, broken: Callable[[str], bool]) -> Event:
    """The event whose text is broken first."""
    return next((event for event in piece.events if broken(str(event.after))), piece.events[-1])


def _list_corrected(piece: Piece) -> dict[str, str]:
    """What the user says right behind the message only, and what is said in its place."""
    swaps = (
        (event, str(edit.get("was")), str(edit.get("now")))
        for event in piece.events
        for edit in _edits(event)
    )
    return {was: now for event, was, now in swaps if was in event.draw.get("final", ()) and was not in now}


def _lacks(clean: str, corrected: Mapping[str, str], one: str, text: str) -> bool:
    return one in words.find_missing(clean, text, corrected)


def _adds_behind(clean: str, text: str) -> bool:
    return words.find_added_behind(clean, text) is not None


def _has_word(word: str, text: str) -> bool:
    return word in words.words(text)


def check_contradictions(audited: AuditedSession) -> Found:
    """Who contradicts themselves has the true value last in what is shown in the end, and says that it is."""
    for piece in audited.user_texts():
        for event in piece.events:
            final = [str(one) for one in event.draw.get("final", ())]
            if not final and event.operator == "user.inconsistent" and not event.draw.get("owed"):
                yield event, event.turn_index, "it settles nothing"
            for value in final:
                wrong = _list_wrong(event, value)
                late = next((one for one in wrong if _is_later(one, value, piece.shown)), None)
                said = any(value in str(edit.get("now")) for edit in _edits(event))
                if value not in piece.clean and value not in event.draw.get("settles", ()):
                    yield event, event.turn_index, f"what it settles on, {value!r:.60}, isn't the user's"
                elif late is not None:
                    blamed = _first(piece, partial(_is_later, late, value))
                    yield (
                        blamed,
                        event.turn_index,
                        f"{late!r:.60} and not {value!r:.60} is what was said last",
                    )
                elif not said or words.last_of(piece.shown.lower(), value.lower()) < 0:
                    yield event, event.turn_index, f"{value!r:.60} isn't settled"
                elif "phrases" in event.draw and not event.draw.keys() & {"wrong", "settles"}:
                    yield event, event.turn_index, f"{value!r:.60} isn't contradicted"


def _is_later(one: str, other: str, text: str) -> bool:
    return words.last_of(text.lower(), one.lower()) > words.last_of(text.lower(), other.lower())


def check_doubts(audited: AuditedSession) -> Found:
    """What a user doubts is the user's own, and one of the next three messages says what is true; nothing
    else is settled so."""
    open_: dict[str, tuple[Event, int]] = {}
    for piece in audited.user_texts():
        open_ = {value: (event, age + 1) for value, (event, age) in open_.items()}
        for event in piece.events:
            for value in map(str, event.draw.get("settles", ())):
                if open_.pop(value, None) is None:
                    yield event, event.turn_index, f"{value!r:.60}, which it settles, was never in doubt"
            for value in map(str, event.draw.get("owed", ())):
                open_[value] = event, 0
                if value not in piece.clean:
                    yield event, event.turn_index, f"{value!r:.60}, which it doubts, isn't the user's"
        for event, age in open_.values():
            if age == LATEST:
                yield event, event.turn_index, f"it isn't settled within {LATEST} messages"


def _list_wrong(event: Event, value: str) -> list[str]:
    """What the user says in the value's place before, and doesn't deny behind it."""
    said = event.draw.get("wrong")
    wrong = said.get(value, ()) if isinstance(said, dict) else ()
    return [str(one) for one in wrong if one not in event.draw.get("denied", ())]
