"""What becomes of users' texts."""

from __future__ import annotations

from crosswind.gateway.trajectory.record import Event
from crosswind.studies.audit import words
from crosswind.studies.audit.reading import AuditedSession, Found

LATEST = 3
"""By so many messages of the user's later a doubt is settled (NoisyAgent: within 2 to 3 turns)."""


def check_entities(audited: AuditedSession) -> Found:
    """A user's figures, codes, addresses, quotations and negations survive, and none is made up; what is
    withheld is named, is one thing, and comes when the user is asked."""
    for piece in audited.user_texts():
        for event in () if piece.masked else piece.events:
            if "observations" in event.draw:
                continue  # What is put there may be numbered: they have a guarantee of their own.
            after = str(event.after)
            gone = words.find_missing(event.before, after)
            withheld = event.draw.get("withheld", ()) if event.recovery == "ask_user" else ()
            if gone and len(withheld) != 1:
                yield event, event.turn_index, f"{gone[0]!r:.60} is lost"
            elif other := [one for one in gone if one not in str(withheld)]:
                yield event, event.turn_index, f"{other[0]!r:.60} is lost, which isn't what was withheld"
            # Who settles a doubt says again what was in doubt; below it is seen to that it was.
            known = f"{event.before} {' '.join(map(str, event.draw.get('settles', ())))}"
            for one in words.find_made_up(known, after):
                yield event, event.turn_index, f"{one!r:.60} is made up"


def check_contradictions(audited: AuditedSession) -> Found:
    """Who contradicts themselves has the true value last, and says that it is."""
    for piece in audited.user_texts():
        for event in piece.events:
            final = [str(one) for one in event.draw.get("final", ())]
            if not final and event.operator == "user.inconsistent" and not event.draw.get("owed"):
                yield event, event.turn_index, "it settles nothing"
            after = str(event.after)
            for value in final:
                wrong = _contradicting_words(event, value)
                if value not in piece.clean and value not in event.draw.get("settles", ()):
                    yield event, event.turn_index, f"what it settles on, {value!r:.60}, isn't the user's"
                elif any(words.last_of(after, one) > words.last_of(after, value) for one in wrong):
                    yield event, event.turn_index, f"{value!r:.60} isn't what was said last"
                elif after.lower().count(value.lower()) <= event.before.lower().count(value.lower()):
                    yield event, event.turn_index, f"{value!r:.60} isn't settled"


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


def _contradicting_words(event: Event, value: str) -> list[str]:
    """The words that came with a contradiction and aren't the user's own."""
    own = set(words.words(event.before)) | set(words.words(value))
    said = [one["now"] for one in event.draw.get("edits", ()) if "no, " in str(one.get("now")).lower()]
    return [word for text in said for word in words.words(text)[:1] if word not in own]
