"""What a tool's English description says of its class."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

from crosswind.injectors.guard.evidence import Evidence, Says
from crosswind.injectors.guard.fact_descriptions import SINGULAR, names_a_fact
from crosswind.injectors.guard.tool_words import (
    ACTING,
    ADJECTIVES,
    AFTER_A_CHANGE,
    ALSO_NOUNS,
    CALCULATING,
    COMPUTED,
    DATABASES,
    FACTS,
    INTERPRETERS,
    MODIFIERS,
    OF_THE_ANSWER,
    READING,
    TELLING,
    UNTELLING,
    WRITING,
)

_WORDS = re.compile(r"[a-z][a-z'-]*")
_PURPOSE = re.compile(r"\b(?:when|for)\b")
_FIRST_WORD = re.compile(r"\W*(?:this (?:function|tool|method)\s+)?(\w+)")
_SENTENCE = re.compile(r"[.!?](?:\s|$)|\n|;|•")
_LEAD = re.compile(
    r"^(?:[\s\-*#>\d)`]*)(?:(?:this|the|a|an|it|use|used|using|useful|fast|simple|quickly|tool|tools|function|api|"
    r"endpoint|method|can|be|is|will|to|for|that|which|and|lets|let|you|allows|helps|when|also|then|please|"
    r"automatically|safely|always|be|able|your|needs?|need)\s+)*",
)
_DOING = frozenset(
    """
    run runs execute executes perform performs do does make makes issue issues submit
    """.split()
)
"""What is done is said by the words behind: `Run a read-only query`, `Performs a search`."""

_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e)\.?")
_ADVICE = re.compile(
    r"\W*(?:use (?!th(?:is|e)\b|it\b|to\b)|(?:always )?call this|do not|don't|never|note\b|if\b)"
)
"""The beginnings of sentences that speak of the call, or of other tools."""

_ARTICLES = ("a ", "an ", "the ")

_READ_ONLY = re.compile(r"\bread[- ]?only\b|\bselect (?:query|queries|statement)")
_NEGATED = re.compile(r"\b(?:not|never|no|n't|non)\W+(?:\w+\W+)?$")
_ALSO = re.compile(
    r"\b(?:and|or|then|also|will|and then|or else|can|may|it|to)\s+(?:also\s+|then\s+)?([a-z]+)\b"
)
_CONDITION = re.compile(
    r"\b(?:not|never|without|n't|instead|unless|before|after|if|when|rather|prefer|use|see|for|want|wants|need|"
    r"needs|how|required|useful|must|should|only|whether|where|who|you)\b"
)


@lru_cache(maxsize=4096)
def judge_description(description: str, name: tuple[str, ...], *, name_reads: bool) -> Evidence:
    """What the description's sentences begin with, and what they join to it by `and`, `or` and the like.
    `name` are the words of the tool's name; beside one that reads, the first word of `Free slots of a doctor`
    is no verb.
    """
    text = _ABBREVIATED.sub("for example", description.lower()).rpartition("tool description:")[2]
    found: list[Says] = []
    for sentence in _SENTENCE.split(text):
        if not sentence.strip() or _ADVICE.match(sentence):
            continue
        says, word = _judge_head(sentence, name if name_reads else ())
        found.append(says)
        if not found[1:] and says is Says.NOTHING and names_a_fact(sentence, name):
            found[0] = Says.NAMES_A_FACT
        if says is Says.WRITES or (word := _find_joined_write(sentence)):
            return Evidence(Says.WRITES, word)
    said = _READ_ONLY.search(text)
    if said is not None and not _NEGATED.search(text[: said.start()]):
        return Evidence(Says.READS_ONLY)
    if found[:1] in ([Says.UNSURE], [Says.READS], [Says.NAMES_A_FACT]):
        return Evidence(found[0])
    return Evidence(Says.TELLS if not {Says.READS, Says.TELLS}.isdisjoint(found) else Says.NOTHING)


def _judge_head(sentence: str, name: tuple[str, ...]) -> tuple[Says, str]:
    """What the first verb of a sentence says, and the word. `name` are the words of a name that reads."""
    lead = _LEAD.match(sentence)
    began = sentence[: lead.end()] if lead else ""
    rest = sentence[len(began) :]
    words = _WORDS.findall(rest)
    if not words or _PURPOSE.search(began):
        words = words[:1]
    if words and words[0] in _DOING:
        asked = any(_base(word) in READING for word in words[1:5])
        general = not DATABASES.isdisjoint(words) or not INTERPRETERS.isdisjoint(words)
        return Says.READS if asked and not general else Says.UNSURE, words[0]
    if not words:
        return Says.NOTHING, ""
    verb = _base(words[0])
    if verb in WRITING:
        return Says.WRITES, words[0]
    if words[0] in ADJECTIVES and began.endswith(_ARTICLES):
        return Says.NOTHING, words[0]
    if name and verb in MODIFIERS and (began.endswith(_ARTICLES) or _begins_a_noun_phrase(words, verb, name)):
        return Says.NOTHING, words[0]
    return _by_verb(verb, words), words[0]


def _begins_a_noun_phrase(words: list[str], verb: str, name: tuple[str, ...]) -> bool:
    """Whether the first word may be an adjective or a noun: `Free slots of a doctor`, `Claims of a patient`.
    A single thing without an article is what a verb acts on (`Close ticket by id`), and so are several that
    the name doesn't ask for: `Dispatch drivers to riders`.
    """
    if words[1:2] and words[1] in _BEHIND_A_NOUN:
        return True
    phrase = list(takewhile(lambda word: word not in _PREPOSITIONS, words[1:]))
    if words[0] != verb or not _BETWEEN_VERB_AND_OBJECT.isdisjoint(phrase):
        return False
    asked = phrase if words[0] in ADJECTIVES else name
    return any(
        word in FACTS or (word in asked and word.endswith("s") and not word.endswith(SINGULAR))
        for word in phrase
    )


_BEHIND_A_NOUN = frozenset(("of", "between", "that", "which", "who", "whose"))
"""Words that follow a noun, and hardly a verb."""
_PREPOSITIONS = _BEHIND_A_NOUN | frozenset(
    """
    about after at before behind below beside by during for from in inside into near on onto over per
    since through to under until upon via when where while with within without
    """.split()
)


def _by_verb(verb: str, words: list[str]) -> Says:
    """What a sentence says whose first word is a form of this verb."""
    if verb in OF_THE_ANSWER:
        return Says.TELLS if AFTER_A_CHANGE.isdisjoint(words) else Says.NOTHING
    if verb in CALCULATING:
        return Says.NOTHING if COMPUTED.isdisjoint(words[1:6]) else Says.READS
    if verb in TELLING:
        return Says.READS
    if verb in UNTELLING:
        return Says.NOTHING
    # A noun, if it isn't the sentence's own verb: `Order details of a customer`.
    acts = verb in ACTING and (verb not in ALSO_NOUNS or _takes_an_object(words))
    return Says.WRITES if acts else Says.NOTHING


def _takes_an_object(words: list[str]) -> bool:
    return len(words) > 1 and words[1] in _OBJECTS


_OBJECTS = frozenset(re.findall(r"\w+", "a an the this that one new some your my it them all to"))
_BETWEEN_VERB_AND_OBJECT = _OBJECTS | frozenset(
    """
    these those any each every both either no its his her their our up off out down away back
    """.split()
)
"""Words that follow a verb, and stand within no noun phrase."""


def _find_joined_write(sentence: str) -> str:
    """The writing verb that a sentence joins to its first: `Find the record and delete it`; else nothing."""
    first = _FIRST_WORD.match(sentence)
    third_person = first is not None and _base(first[1]) != first[1]
    for found in _ALSO.finditer(sentence):
        word = found[1]
        verb = _base(word)
        joint = sentence[found.start() :].split(None, 1)[0]
        words = _WORDS.findall(sentence[found.start(1) :])
        acts = verb in ACTING - UNTELLING - TELLING and _takes_an_object(words)
        if verb not in WRITING and not acts:
            continue
        # `Searches for and deletes`: both are what the tool does, whatever stands between them.
        parallel = joint in ("and", "then") and third_person and word != verb and verb in WRITING
        if word.endswith("ed") or (not parallel and _CONDITION.search(sentence[: found.start()])):
            continue
        if joint in ("to", "it", "can", "may", "will") and found.start() > 40:
            continue
        return word
    return ""


_IRREGULAR = {
    "running": "run",
    "getting": "get",
    "putting": "put",
    "setting": "set",
    "has": "has",
    "is": "is",
}


@lru_cache(maxsize=4096)
def _base(word: str) -> str:
    """The verb of which this is a form: creates, creating -> create. The word itself, if it is none."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    known = TELLING | WRITING | ACTING | CALCULATING
    for ending, put in (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ing", ""), ("ing", "e")):
        if word.endswith(ending) and (base := word[: len(word) - len(ending)] + put) in known:
            return base
    return word
