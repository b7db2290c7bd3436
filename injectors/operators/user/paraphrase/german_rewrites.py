"""German sentences said in another construction: a question asked indirectly, a need as a wish.

In a clause the finite verb goes to the end, whatever stands before it, and takes its prefix along: `Wann
fängt es an?`, `wann es anfängt`.
"""

from __future__ import annotations

import re

_LEAD = re.compile(
    r"(?:(?:hallo|hi|hey|moin|servus|guten (?:tag|morgen|abend)|danke|super|gut|prima|okay|ok|ja|alles klar)"
    r"(?: zusammen| schon mal)?, |(?:und|ach so,|also,?|gut,) )",
    re.IGNORECASE,
)
"""What may stand before a sentence, and goes on with it."""

_TEXT = r"(?:[^,;:?!]|(?<=\d):(?=\d))"
_PREPOSITION = r"(?:(?i:um|bis|ab|seit|zu|in|an|auf|für|mit|von|aus)\ )?"
_HOW = r"(?:lange?|oft|weit|hoch|groß|teuer|spät|alt|gut|schnell|viele?)"
_ASKED = re.compile(
    rf"""(?P<word>{_PREPOSITION}
      (?:(?i:wie)\ (?!viele?\b){_HOW} | (?i:wo|wann|wie(?!\ {_HOW}\b)|was(?!\ für\b)|wer|wen|wem|wohin
        |woher|warum|wieso|weshalb|wofür|worum)
      | (?i:wie\ viele?|wieviele?|welche[rnms]?|was\ für(?:\ eine?[nmrs]?)?)
        (?:\ [a-zäöüß]+e[nrs]?(?=\ [A-ZÄÖÜ]))?(?:\ [A-ZÄÖÜ][\wäöüß-]+){{0,2}}))
    \ (?P<verb>[a-zäöüß]+)\ (?P<rest>{_TEXT}{{2,120}}?)\ ?\?""",
    re.VERBOSE,
)
_WHETHER = re.compile(
    rf"""(?P<verb>Ist|Sind|War|Waren|Hat|Haben|Hast|Habe|Kann|Können|Darf|Dürfen|Muss|Müssen|Gilt|Gelten|Läuft
      |Laufen|Fährt|Fahren|Kostet|Kosten|Kommt|Geht|Wird|Werden|Wurde|Wurden|Steht|Stehen|Gibt|Passt|Braucht|Liegt
      |Beginnt|Spielt|Bietet|Reicht|Gehört|Stimmt)\ (?P<rest>{_TEXT}{{4,120}}?)\ ?\?""",
    re.VERBOSE,
)
_VERB = re.compile(
    r"(?:\w+(?:t|en|n|e)|ist|sind|wird|war|hab|bin|darf|kann|muss|will|soll|weiß|kam|gab|ging|lief)\Z"
)
_MODAL = frozenset(
    """
    kann können könnte könnten darf dürfen dürfte dürften muss müssen soll sollen sollte sollten will wollen
    mag kannst darfst musst sollst
    """.split()
)
_AUXILIARY = _MODAL | frozenset(
    """
    ist sind war waren bin hat haben hast habe hatte hatten wird werden wurde wurden
    """.split()
)
"""Verbs that take no prefix along: `da sind`, and `ankommen kann`."""
_PREFIXES = frozenset(
    """
    ab an auf aus ein mit nach vor weg zu zurück hinzu durch fest los statt teil her hin heraus raus rein
    vorbei
    """.split()
)
_FINITE = re.compile(
    r"""(?!(?:d(?:er|ie|as|en|em|es)|[kmds]?ein\w*|ihr\w*|unser\w*|eu\w+|ich|du|er|sie|es|wir|man|sich|uns|ihnen
    |[md]i(?:r|ch)|dies\w*|jed\w*|all\w*|viele|im?n?|am|an|auf|ab|aus|bei\w*|bis|für|mit|nach|um|vo[mnr]|zu[mr]?
    |denn|eigentlich|genau|jetzt|heute|morgen)\b)[a-zäöüß]+(?=\ )""",
    re.VERBOSE,
)
"""What stands behind a verb that follows `wie`, and doesn't begin its subject: so that is no verb."""
_INFINITIVE = re.compile(r"[a-zäöüß]{2,}(?:en|ern|eln|tun|sein)\Z")
_AGENT = re.compile(r"(?:du|Sie)\b")
_UNSURE = re.compile(
    r"\b(?:und|oder|aber|denn|sowie) (?:[a-zäöü]+ )?(?:ich|du|er|sie|Sie|es|wir|man)\b| als "
)
"""A second clause, or a comparison that the verb would have to stand before."""

_NEED = re.compile(
    r"(?P<who>Ich|Wir) (?P<verb>brauchen?|hätten? gerne?|bräuchten?|möchten?) (?P<what>[^,;:?!]{4,160}?)\.?"
)


def rewrite_german(sentence: str) -> list[str]:
    lead = _LEAD.match(sentence)
    if lead is None:
        return _rewrite(sentence)
    rest = sentence[lead.end() :]
    return [f"{lead[0]}{form[0].lower()}{form[1:]}" for form in _rewrite(rest[:1].upper() + rest[1:])]


def _rewrite(sentence: str) -> list[str]:
    if (need := _NEED.fullmatch(sentence)) is not None:
        return _wish(need)
    said = _read_question(sentence)
    openings = ("Ich wüsste gern", "Ich würde gern wissen", "Ich möchte wissen", "Mich interessiert")
    return [] if said is None else [f"{opening}, {said}." for opening in openings]


def _read_question(sentence: str) -> str | None:
    """The question as a clause."""
    if (asked := _ASKED.fullmatch(sentence)) is not None:
        word, verb = asked["word"], asked["verb"]
        head = word[0].lower() + word[1:]
        if head.endswith("wie") and (finite := _FINITE.match(asked["rest"])) is not None:
            # What is asked about is a quality: `Wie feucht ist der Boden?`
            if finite[0] not in _AUXILIARY:
                return None
            clause = _close(asked["rest"][finite.end() + 1 :], finite[0])
            return None if clause is None else f"{head} {verb} {clause}"
    elif (asked := _WHETHER.fullmatch(sentence)) is not None:
        head, verb = "ob", asked["verb"].lower()
        if verb in _MODAL and _AGENT.match(asked["rest"]):
            return None  # It asks for a deed.
    else:
        return None
    clause = _close(asked["rest"], verb)
    return None if clause is None else f"{head} {clause}"


def _close(rest: str, verb: str) -> str | None:
    """The rest of a clause, and its finite verb at the end."""
    if _UNSURE.search(rest) or _VERB.match(verb) is None:
        return None
    before, _, last = rest.rpartition(" ")
    if verb in _MODAL and _INFINITIVE.match(last) is None:
        return None
    if last in _PREFIXES and verb not in _AUXILIARY:
        return f"{before} {last}{verb}" if before else f"{last}{verb}"
    return f"{rest} {verb}"


def _wish(need: re.Match[str]) -> list[str]:
    """Another verb of wishing: what is wished for stays."""
    who, verb, what = need["who"], need["verb"], need["what"]
    if " und " in what or _INFINITIVE.search(what) or what.startswith(("dass ", "nur ", "es ")):
        return []
    verbs = (
        ("brauche", "bräuchte", "hätte gern") if who == "Ich" else ("brauchen", "bräuchten", "hätten gern")
    )
    said = verb.removesuffix("e") if verb.endswith("gerne") else verb
    return [f"{who} {one} {what}." for one in verbs if one != said]
