"""English sentences said in another construction: each rule knows one form, and gives sentences that mean the
same by grammar, not by a list of synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from crosswind.injectors.operators.user.requests.extraction import Doer, Request
from crosswind.injectors.operators.user.requests.verbs import GERUNDS, SURE

LONG = 14
"""Words of a request behind which nothing more is said of it."""

GREETINGS = (
    *("Hi,", "Hello,", "Hey,", "Hi there,", "Good morning,", "Hi!", "Hello!", "Hey!", "Hello there,"),
    *("Good afternoon,", "Good evening,", "Hey there,", "Good day,", "Morning,"),
)
CLOSINGS = (
    *(
        "Thanks.",
        "Thank you.",
        "Thanks!",
        "Thank you!",
        "Thanks a lot.",
        "Many thanks.",
        "Thanks in advance.",
    ),
    *("Thank you very much.", "Much appreciated.", "Cheers.", "Thanks so much!", "Thank you in advance."),
    *(
        "Thank you so much.",
        "Thanks for your help.",
        "Many thanks!",
        "Thanks for the help!",
        "Thanks a bunch.",
    ),
    *("Appreciate it.", "I appreciate it.", "Thanks a million.", "That would be great.", "Best regards."),
    *("Thanks again.", "Kind regards.", "Thank you for your help.", "That would help a lot."),
)
COURTESY = re.compile(
    r"\b(?:hi|hello|hey|good (?:day|morning|afternoon|evening)|thanks|thank you|thx|please|pls|kindly|cheers"
    r"|appreciate\w*|grateful|obliged|angel)\b",
    re.IGNORECASE,
)
"""Words by which a message greets, asks politely or thanks already."""

_ING = {verb: form for form, verb in GERUNDS.items()}
_SEVERAL = re.compile(r"\b(?:and|or|then|if|but)\b|[,;]", re.IGNORECASE)
_NOMINAL: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), forms)
    for pattern, forms in (
        (r"look at(?= (?:the|my|our|this|these|all)\b)", ("take a look at", "have a look at")),
        (r"search for(?= )", ("run a search for",)),
        (r"summari[sz]e(?= (?:the|my|our|this|these|all|it)\b)", ("give me a summary of",)),
        (r"list(?= (?:the|my|our|all|every|these)\b)", ("give me a list of",)),
        (r"describe(?= (?:the|my|our|this|these|it)\b)", ("give me a description of",)),
        (r"explain(?= (?:the|my|this|these)\b)", ("give me an explanation of",)),
        (r"estimate(?= (?:the|my|our|this)\b)", ("give me an estimate of",)),
        (r"tell me(?= (?:what|which|who|where|when|how|whether|if)\b)", ("let me know",)),
        (r"tell me(?= the\b)", ("let me know", "give me")),
        (r"give me(?= (?:the|my|our|all|a|an|some)\b)", ("get me",)),
        (r"find out(?= (?:what|which|who|where|when|how|whether|if)\b)", ("work out",)),
    )
)
"""Verbs, and the noun or the other verb that says the same before the same object."""

_FORMS: tuple[tuple[str, bool], ...] = (
    ("Could you {}?", True),
    ("Could you please {}?", True),
    ("Can you {}?", True),
    ("Can you please {}?", True),
    ("Would you {}?", True),
    ("Would you {}, please?", False),
    ("Please {}.", True),
    ("{}, please.", False),
    ("{}, will you?", False),
    ("I'd like you to {}.", True),
    ("I was wondering if you could {}.", False),
    ("Would you be able to {}?", True),
    ("Are you able to {}?", True),
    ("Can I get you to {}?", True),
    ("Can I ask you to {}?", True),
    ("What I need is for you to {}.", True),
    ("Would it be possible for you to {}?", True),
    ("It would be great if you could {}.", True),
    ("It'd be nice if you could {}.", True),
    ("I'd be glad if you could {}.", True),
    ("If possible, {}.", True),
    ("Could I ask you to {}?", True),
    ("Do you think you could {}?", True),
    ("I need you to {}.", True),
    ("I want you to {}.", True),
    ("Can I have you {}?", False),
    ("Is there any chance you could {}?", True),
    ("It would help if you could {}.", True),
    ("I'm hoping you can {}.", True),
    ("If you can, {}.", True),
    ("When you have a moment, {}.", True),
    ("When you get a chance, {}.", True),
    ("Go ahead and {}.", False),
    ("Any chance you could {}?", True),
    ("Maybe you could {}.", False),
    ("Do me a favor and {}.", False),
)
"""Sentences around a request, and whether it may be long."""


_WISHES = ("I'd like to", "I want to", "I would like to", "I need to", "I'm trying to", "I'm hoping to")


def rewrite_request(request: Request) -> list[str]:
    """Sentences that ask for the same. A request for what the user does has no such form."""
    if request.doer is Doer.USER:
        return [f"{opening} {request.infinitive}." for opening in _WISHES]
    asked = request.infinitive
    short = len(asked.split()) <= LONG and not _SEVERAL.search(asked)
    forms = [_fill(form, asked) for form, long in _FORMS if long or short]
    verb, _, rest = asked.partition(" ")
    if verb in _ING and short:
        forms += [f"{opening} {_ING[verb]} {rest}?" for opening in ("Would you mind", "Do you mind", "Mind")]
    return forms


def _fill(form: str, asked: str) -> str:
    return form.format(asked[0].upper() + asked[1:] if form.startswith("{}") else asked)


def nominalise(infinitive: str) -> list[str]:
    """The request with a noun for its verb, or the other way round."""
    for pattern, forms in _NOMINAL:
        if (match := pattern.match(infinitive)) is not None:
            return [form + infinitive[match.end() :] for form in forms]
    return []


def rewrite_sentence(sentence: str) -> list[str]:
    """Other constructions of a sentence that is no request of a known form."""
    first = sentence.partition(" ")[0].rstrip(",.!")
    rules = _RULES_BY_WORD.get(first)
    if rules is None and first.lower() in SURE:
        rules = (_move_clause,)
    found = [one for rule in rules or () for one in rule(sentence)]
    return found + open_question(sentence) + list_variants(sentence)


_QUESTION = re.compile(
    r"(?:What(?:['’]s)?|Which|Who(?:['’]s)?|Where(?:['’]s)?|When(?:['’]s)?|Why|How|Is|Are|Was|Were|Does|Did"
    r"|Has|Have|Will) [^?!;:\n]{8,220}\?"
)
_OPENERS = (
    *("Quick question: {}", "I was wondering, {}", "Just wondering, {}", "One question: {}"),
    *("Tell me, {}", "I'm curious, {}", "Out of interest, {}", "So, {}", "A quick one: {}"),
)
_EMBEDDED = re.compile(
    r"(?P<asked>(?:Which|How (?:many|much)) (?:[a-z-]+ ){1,3}(?:are|is|was|were|have|has|had) "
    r"(?:(?:been|in|on|at|left|available|needed|required|showing|playing|open|free|won|lost) ?)"
    r"[^?!;:\n]{0,160})\?"
)


def open_question(sentence: str) -> list[str]:
    """A question with words before it that say that it is one, or within one that asks for an answer."""
    if _QUESTION.fullmatch(sentence) is None or re.match(r"(?:Is|Are) there any (?:way|chance)\b", sentence):
        return []
    forms = [form.format(lower_first(sentence)) for form in _OPENERS]
    embedded = _EMBEDDED.fullmatch(sentence)
    if embedded is not None:
        said = lower_first(embedded["asked"])
        forms += [f"Could you tell me {said}?", f"I'd like to know {said}.", f"Do you know {said}?"]
    return forms


_VARIANTS = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        (r"^I am\b(?! \w+ed\b)", "I'm"),
        (r"^I'd like\b", "I would like"),
        (r"^I would like\b", "I'd like"),
        (r"^What's\b", "What is"),
        (r"^What is\b", "What's"),
        (r"^Where's\b", "Where is"),
        (r"^Where is\b", "Where's"),
    )
)
"""How a sentence begins, short and long."""


def list_variants(sentence: str) -> list[str]:
    """The sentence with its first words in their short or their long form."""
    return [said for one, other in _VARIANTS if (said := one.sub(other, sentence, count=1)) != sentence]


_NEED = re.compile(
    r"I (?P<verb>need|want)(?P<what> (?:a|an|some|the|my|two|three|four|five"
    r"|\d+) [^.?!;:]{3,200})(?P<end>\.?)"
)
_CLAUSE = re.compile(r"\b(?:and|but|because|since|so|which|who|that|if|when|where|to be|for you|you to)\b|,")


def _say_what(sentence: str) -> list[str]:
    """`I need a room` as `I'm looking for a room`."""
    match = _NEED.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]):
        return []
    what, end = match["what"], match["end"] or "."
    if re.match(r" (?:the|my)\b", what) is not None:
        return [f"I'm after{what}{end}"]
    return [f"I'm looking for{what}{end}", f"I'd like{what}{end}", f"I'd like to have{what}{end}"]


_HOW = re.compile(r"How (?:do|can|could|should|would) I (?P<verb>[a-z]+)(?P<rest> [^?;:]{2,200})\?")


def _ask_how(sentence: str) -> list[str]:
    match = _HOW.fullmatch(sentence)
    if match is None or match["verb"] in ("know", "tell") or _CLAUSE.search(match["rest"]):
        return []
    what = f"{match['verb']}{match['rest']}"
    return [
        *(f"Could you tell me how to {what}?", f"I'd like to know how to {what}."),
        *(f"What do I have to do to {what}?", f"Can you tell me how to {what}?"),
    ]


_MAY = re.compile(r"(?:Can|Could|May) I (?P<what>(?!not\b)[a-z]+ [^?;:]{2,200})\?")


def _ask_may(sentence: str) -> list[str]:
    match = _MAY.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]) or match["what"].startswith(("have ", "get ", "ask ")):
        return []
    what = match["what"]
    return [
        *(f"Is it possible for me to {what}?", f"Would I be able to {what}?"),
        f"I'd like to know whether I can {what}.",
    ]


_IS_THERE = re.compile(r"(?P<be>Is|Are) there (?P<what>[^?;:]{3,200})\?")


def _ask_whether(sentence: str) -> list[str]:
    match = _IS_THERE.fullmatch(sentence)
    if match is None or re.match(r"(?:any\ )?(?:way|chance)\b", match["what"]):
        return []
    said = f"there {match['be'].lower()} {match['what']}"
    return [
        *(
            f"Could you tell me whether {said}?",
            f"I'd like to know if {said}.",
            f"Do you know whether {said}?",
        ),
        f"Can you check if {said}?",
    ]


_DO_YOU = re.compile(r"Do you (?P<what>(?:have|offer|sell|know|accept|serve|support) [^?;:]{3,200})\?")


def _ask_do_you(sentence: str) -> list[str]:
    match = _DO_YOU.fullmatch(sentence)
    if match is None:
        return []
    return [
        f"Could you tell me whether you {match['what']}?",
        f"I'd like to know if you {match['what']}.",
        f"May I ask whether you {match['what']}?",
    ]


_WHERE = re.compile(r"Where (?P<be>is|are) (?P<what>(?:the|my|our|your) (?:[\w'#-]+ ?){1,3})\?")


def _ask_where(sentence: str) -> list[str]:
    match = _WHERE.fullmatch(sentence)
    if match is None or re.search(r"\b(?:in|at|on|of|for|located|going|being)\b", match["what"]):
        return []
    said = f"where {match['what'].strip()} {match['be']}"
    return [f"Could you tell me {said}?", f"I'd like to know {said}.", f"Can you find out {said}?"]


_FIRST = re.compile(
    r"(?P<when>(?:If|When|Once|As soon as|Before|After|Unless"
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


def _look_for(sentence: str) -> list[str]:
    match = _LOOKING.fullmatch(sentence)
    if match is None or _CLAUSE.search(match["what"]):
        return []
    what = match["what"]
    return [f"I'm trying to find {what}.", f"I need to find {what}."]


_RULES: Sequence[Callable[[str], list[str]]] = (
    *(_say_what, _ask_how, _ask_may, _ask_whether, _ask_do_you, _ask_where, _move_clause, _thank, _greet),
    _look_for,
)


_FIRST_WORDS: Mapping[Callable[[str], list[str]], str] = {
    _say_what: "I",
    _ask_how: "How",
    _ask_may: "Can Could May",
    _ask_whether: "Is Are",
    _ask_do_you: "Do",
    _ask_where: "Where",
    _move_clause: "If When Once As Before After Unless While",
    _thank: "Thanks Thank Many",
    _greet: "Hi Hello Hey Good",
    _look_for: "I I'm",
}
"""The words that a rule's sentences begin with; `_move_clause` knows commands, too."""
_RULES_BY_WORD: Mapping[str, tuple[Callable[[str], list[str]], ...]] = {
    word: tuple(
        rule
        for rule in _RULES
        if word in _FIRST_WORDS[rule].split() or (rule is _move_clause and word.lower() in SURE)
    )
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
