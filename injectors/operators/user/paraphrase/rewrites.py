"""English sentences said in another construction: each rule knows one form, and gives sentences that mean the
same by grammar, not by a list of synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from crosswind.injectors.operators.user.paraphrase.questions import rewrite_question
from crosswind.injectors.operators.user.paraphrase.replacements import compile_rules, replace_by_rules
from crosswind.injectors.operators.user.requests.extraction import Doer, read_english
from crosswind.injectors.operators.user.requests.verbs import AMBIGUOUS, SURE
from crosswind.injectors.text.word_lists import make_phrases


def rewrite_sentence(sentence: str) -> list[str]:
    """Other constructions of a sentence that is no request of a known form."""
    first = sentence.partition(" ")[0].rstrip(",.!")
    rules = _RULES_BY_WORD.get(first)
    if rules is None and first.lower() in SURE:
        rules = [_move_clause]
    found = [one for rule in rules or () for one in rule(sentence)] + _ask_behind(sentence)
    return found or [*rewrite_question(sentence), *replace_by_rules(sentence, _VARIANTS)]


_VARIANTS = compile_rules(
    (r"^I am\b(?! \w+ed\b)", ("I'm",)),
    (r"^I'd like\b", ("I would like",)),
    (r"^I would like\b", ("I'd like",)),
    (r"^What's\b", ("What is",)),
    (r"^What is\b", ("What's",)),
    (r"^Where's\b", ("Where is",)),
    (r"^Where is\b", ("Where's",)),
)
"""How a sentence begins, short and long."""


_NEED = re.compile(
    r"I (?P<verb>need|want)(?P<what> (?:a|an|some|the|my|directions|information|two|three|four|five"
    r"|\d+) [^.?!;:]{3,200})(?P<end>\.?)"
)
_CLAUSE = re.compile(
    r"\b(?:and|but|because|since|so|which|who|that|if|when|where|to be|for you|you to|back|done)\b"
    r"|,(?!\d| (?:preferably|ideally|something|for|from|with|in|near|starting|returning|around|under|not)\b)"
)


def _say_what(sentence: str) -> list[str]:
    """`I need a room` as `I'm looking for a room`."""
    match = _NEED.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]):
        return []
    what, end = match["what"], match["end"]
    if re.match(r" (?:the|my)\b", what) is not None:
        return [
            f"{one}{what}{end}" for one in ("I'd like", "I want", "I need") if one != f"I {match['verb']}"
        ]
    other = "I want" if match["verb"] == "need" else "I need"
    openings = ("I'm looking for", "I'd like", "I am looking for", "I would like", other)
    asked = ("Can I get", "Could I get", "Can I have", "Could I have", "Would it be possible to get")
    return [
        *(f"{opening}{what}{end}" for opening in (*openings, "I'd like to have", "I'd like to get")),
        *(f"{opening}{what}?" for opening in asked),
    ]


_WISHED = re.compile(
    r"(?P<wish>I['’]d like|I would like|I want|I need|I have|I wish|I['’]d love) to (?P<deed>[^?]{3,240})"
)
_WISHES = ("I'd like to", "I want to", "I would like to")
_NEEDS = ("I need to", "I have to", "I've got to")


def _wish(sentence: str) -> list[str]:
    """`I'd like to dispute a charge` as `I want to dispute a charge`."""
    match = _WISHED.fullmatch(sentence)
    if match is None:
        return []
    wish = match["wish"].replace("’", "'")
    openings: tuple[str, ...] = _NEEDS if wish in ("I need", "I have") else _WISHES
    if wish not in ("I need", "I have") and not match["deed"].startswith(("know ", "see ")):
        openings = (*_WISHES, "I'm looking to", "I was hoping to", "I'm hoping to", "I'd love to")
    return [f"{opening} {match['deed']}" for opening in openings if opening != f"{wish} to"]


def _fill(forms: Sequence[str], what: str) -> list[str]:
    return [form.format(what) for form in forms]


_HOW = re.compile(
    r"How (?:do|can|could|should|would) I (?P<what>(?!(?:know|tell)\b)[a-z]+(?P<rest> [^?;:]{2,200}))\?"
)
_ASKING_HOW = make_phrases(
    """
    Could you tell me how to {}? | I'd like to know how to {}. | Can you tell me how to {}? |
    I need to know how to {}. | Can you explain how to {}? | Could you explain how to {}? |
    Please tell me how to {}. | I want to know how to {}. | Do you know how to {}? | Tell me how to {}. |
    Could you please explain how to {}? | I'm trying to find out how to {}. | Please explain how to {}. |
    Can you let me know how to {}? | I was wondering how to {}. | Let me know how to {}. |
    What do I need to do to {}? | What's the way to {}? | What do I have to do to {}?
    """
)


def _ask_how(sentence: str) -> list[str]:
    match = _HOW.fullmatch(sentence)
    return [] if match is None or _CLAUSE.search(match["rest"]) else _fill(_ASKING_HOW, match["what"])


_MAY = re.compile(r"(?:Can|Could|May) I (?P<what>(?!(?:not|have|get|ask)\b)[a-z]+ [^?;:]{2,200})\?")
_ASKING_MAY = make_phrases(
    """
    I'd like to know whether I can {}. | I'd like to know if I can {}. | Can you tell me if I can {}? |
    I was wondering if I can {}. | Could you tell me whether I can {}? | I want to know if I can {}. |
    Do you know if I can {}? | Please let me know if I can {}. | Could you let me know if I can {}? |
    I'm wondering if I can {}. | I need to know if I can {}. | Please tell me if I can {}. |
    Is it possible for me to {}?
    """
)


def _ask_may(sentence: str) -> list[str]:
    match = _MAY.fullmatch(sentence)
    return [] if match is None or _CLAUSE.search(match["what"]) else _fill(_ASKING_MAY, match["what"])


_MAY_HAVE = re.compile(r"(?:Can|Could|May) I (?:get|have) (?P<what>(?!to\b)[^?;:,]{2,120})\?")
_HAVING = make_phrases(
    """
    Can I have {}? | Could I have {}? | Can I get {}? | Could I get {}? | May I have {}? | I'd like {}. |
    I would like {}. | I'd like to have {}. | I'd like to get {}. | Would it be possible to get {}? |
    Is it possible to get {}?
    """
)
_PAST = re.compile(r"\b\w+ed\b")


def _ask_to_have(sentence: str) -> list[str]:
    """`Could I get a late checkout?` as `I'd like a late checkout.`"""
    match = _MAY_HAVE.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]) or _PAST.search(match["what"]):
        return []
    return [said for said in _fill(_HAVING, match["what"]) if said != sentence]


_IS_THERE = re.compile(r"(?P<be>Is|Are) there (?P<what>(?!(?:any )?(?:way|chance)\b)[^?;:]{3,200})\?")
_ASKING_WHETHER = make_phrases(
    """
    Could you tell me whether {}? | I'd like to know if {}. | Do you know if {}? | Can you check if {}? |
    Can you tell me if {}? | I was wondering if {}. | Do you know whether {}? | Could you check if {}? |
    I need to know if {}. | I'm wondering if {}. | Please check if {}. | Please let me know if {}. |
    Can you find out if {}? | Let me know if {}. | Could you find out whether {}?
    """
)


def _ask_whether(sentence: str) -> list[str]:
    match = _IS_THERE.fullmatch(sentence)
    return [] if match is None else _fill(_ASKING_WHETHER, f"there {match['be'].lower()} {match['what']}")


_DO_YOU = re.compile(r"Do you (?P<what>(?:have|offer|sell|know|accept|serve|support) [^?;:]{3,200})\?")
_ASKING_DO_YOU = make_phrases(
    """
    Could you tell me whether you {}? | I'd like to know if you {}. | I was wondering if you {}. |
    Can you tell me if you {}? | I'm wondering if you {}. | I wanted to know if you {}. |
    Please let me know if you {}. | Could you let me know if you {}?
    """
)


def _ask_do_you(sentence: str) -> list[str]:
    match = _DO_YOU.fullmatch(sentence)
    return [] if match is None else _fill(_ASKING_DO_YOU, match["what"])


_FIRST = re.compile(
    r"(?P<when>(?:If|When|Once|As soon as|Unless"
    r"|While) [^,.?!;:]{4,120}), (?:please )?(?:then )?"
    r"(?P<main>[a-z][^,.?!;:]{4,200})(?P<end>[.?!]?)"
)
_LAST = re.compile(
    r"(?P<main>[A-Z][^,.?!;:]{4,200}?),? (?P<when>(?:if|once|as soon as|unless) (?:the|it|there|you|my"
    r"|they|any|that) "
    r"[^,.?!;:]{4,120}?)(?P<end>[.!]?)"
)


def _move_clause(sentence: str) -> list[str]:
    """`If it rains, close the roof` as `Close the roof if it rains`, and back."""
    first = _FIRST.fullmatch(sentence)
    if first is not None and first["main"].split(" ", 1)[0] in SURE | {"can", "could", "would", "i", "you"}:
        main, when = first["main"], first["when"]
        return [f"{main[0].upper()}{main[1:]} {when[0].lower()}{when[1:]}{first['end'] or '.'}"]
    last = _LAST.fullmatch(sentence)
    if last is not None and last["main"].split(" ", 1)[0].lower() in SURE:
        main, when = last["main"], last["when"]
        return [f"{when[0].upper()}{when[1:]}, {main[0].lower()}{main[1:]}{last['end'] or '.'}"]
    return []


_CONJUNCTIONS = (
    "since|as|because|for|after|before|once|when|while|if|given|with|now that|in order to|at|on|in|by|to"
)
_ADVERBS = "finally|lastly|additionally|afterwards|next|meanwhile|in addition|after that"
_BEHIND = re.compile(
    rf"(?P<lead>(?:(?:{_CONJUNCTIONS}) [^,.?!;:]{{3,100}}|(?:{_ADVERBS})|.{{4,160}}),"
    r"(?: (?:so|and|but|then))?) (?P<main>[a-z].+)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:please|kindly|(?:can|could|would|will) you|(?:i|we)(?:['’]d| would| need| want)\b)", re.IGNORECASE
)
_LEADS = re.compile(rf"(?:{_CONJUNCTIONS}|{_ADVERBS})\b", re.IGNORECASE)
_TO_AGENT = make_phrases(
    """
    could you {}? | can you {}? | could you please {}? | please {}. | can you please {}? |
    could you {}, please? | can you {}, please? | would you be able to {}? | please could you {}? |
    would you please {}? | do you think you could {}? | could you possibly {}?
    """
)
_TOLD = make_phrases(
    """
    I'd like you to {}. | I need you to {}. | I want you to {}. | I was hoping you could {}. |
    I was wondering if you could {}. | I'd appreciate it if you could {}. | I hope you can {}.
    """
)
_BY_USER = ("I'd like to {}.", "I want to {}.", "I would like to {}.", "I need to {}.")


def _ask_behind(sentence: str) -> list[str]:
    """A request behind what leads up to it, in another form: `Since I'm late, could you book a cab?`"""
    match = _BEHIND.fullmatch(sentence)
    if match is None:
        return []
    lead, main = match["lead"], match["main"]
    if _ASKS.match(main) is None and (
        _LEADS.match(lead) is None or main.split(" ", 1)[0] not in SURE | AMBIGUOUS
    ):
        return []
    asked = read_english(main)
    if asked is None or ", " in asked[0]:
        return []
    infinitive, doer = asked
    wished = re.match(r"(?:i|we)\b(?!.{0,12} you )", main, re.IGNORECASE) is not None
    forms: tuple[str, ...] = () if doer is Doer.USER else _TO_AGENT
    # Nobody puts a statement behind another one with no more than a comma between them.
    if forms and (_LEADS.match(lead) or lead.endswith((" so", " and", " but"))):
        forms += _TOLD
    forms += _BY_USER if wished else ()
    return [said for form in forms if (said := f"{lead} {form.format(infinitive)}") != sentence]


_THANKS = re.compile(
    r"(?:Thanks|Thank you|Many thanks)(?P<much>(?: so| very)? much| a lot)?(?P<for> for [^.!?]{3,80})?[.!]*"
)


def _thank(sentence: str) -> list[str]:
    match = _THANKS.fullmatch(sentence)
    if match is None:
        return []
    said = match["for"] or ""
    return [
        f"{thanks}{said}."
        for thanks in ("Thanks", "Thank you", "Many thanks", "Thank you very much", "Thanks a lot")
    ]


_GREETING = re.compile(r"(?:Hi|Hello|Hey|Good (?:morning|afternoon|evening))(?: there)?[,.!]?")


def _greet(sentence: str) -> list[str]:
    return ["Hello!", "Hi there!", "Hi!", "Hey!", "Hey there!"] if _GREETING.fullmatch(sentence) else []


_LOOKING = re.compile(r"I(?:'m| am) looking for (?P<what>[^.?!;:]{4,200})(?P<end>\.?)")


_SEEKING = make_phrases(
    """
    I'm trying to find {} | I need to find {} | I need {} | I'd like to find {} | I want to find {} |
    Can you help me find {}? | Could you help me find {}? | Please help me find {} | Help me find {} |
    Can you find me {}? | Could you find me {}? | I'm after {}
    """
)


def _look_for(sentence: str) -> list[str]:
    match = _LOOKING.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]):
        return []
    definite = re.match(r"(?:the|my|our)\b", match["what"]) is not None
    return [
        form.format(match["what"]) + ("" if form.endswith("?") else match["end"])
        for form in _SEEKING
        if not definite or "find me" not in form
    ]


_FIRST_WORDS: Mapping[Callable[[str], list[str]], str] = {
    _say_what: "I",
    _ask_how: "How",
    _ask_may: "Can Could May",
    _ask_whether: "Is Are",
    _ask_do_you: "Do",
    _move_clause: "If When Once As Before After Unless While",
    _thank: "Thanks Thank Many",
    _greet: "Hi Hello Hey Good",
    _look_for: "I I'm",
    _wish: "I I'd I’d",
    _ask_to_have: "Can Could May",
}
"""The words that a rule's sentences begin with; `_move_clause` knows commands, too."""
_RULES_BY_WORD: Mapping[str, list[Callable[[str], list[str]]]] = {
    word: [rule for rule, firsts in _FIRST_WORDS.items() if word in firsts.split()]
    for words in _FIRST_WORDS.values()
    for word in words.split()
}


def end_sentence(sentence: str, stop: str) -> str:
    """The sentence with a stop behind it, where it has none."""
    return sentence if sentence[-1:] in ".?!…。？！:," else sentence + stop


def lower_first(sentence: str) -> str:
    """The sentence as it goes on behind a word: `I` keeps its capital, as a name does."""
    first = sentence.split(" ", 1)[0]
    keeps = first == "I" or first.startswith(("I'", "I’")) or first[1:] != first[1:].lower()
    return sentence if keeps else sentence[:1].lower() + sentence[1:]
