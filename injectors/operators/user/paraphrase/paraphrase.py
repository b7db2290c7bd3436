"""The same request in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from crosswind.injectors.conversation import Site, ToolList
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_text
from crosswind.injectors.operators.phrases import NO_PACK, PhraseDraw, find_setting
from crosswind.injectors.operators.user.asides.draw import is_small
from crosswind.injectors.operators.user.paraphrase import (
    courtesies,
    foreign_rewrites,
    frames,
    greetings,
    request_forms,
    rewrites,
    verb_changes,
)
from crosswind.injectors.operators.user.requests.extraction import Doer, Request, find_requests
from crosswind.injectors.operators.user.typos.named_words import NamedWords, read_named_words
from crosswind.injectors.operators.user.values.sure_values import PASSED_ON
from crosswind.injectors.packs.draw import Setting
from crosswind.injectors.packs.model import Entry
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.edits import apply_edits, make_edit
from crosswind.injectors.text.entities import find_lost
from crosswind.injectors.text.languages import UNABLE, UNSPACED, Language
from crosswind.injectors.text.quotations import find_literals, find_open_end
from crosswind.injectors.text.sentences import is_prose, split_sentences
from crosswind.injectors.wording import written_form

EXTENT = ("a few words and turns of phrase", "most of the wording", "the wording throughout")
"""By thirds of the severity."""

OPERATOR = "user.paraphrase"
_TRIES = 4
"""Forms that are drawn for a sentence, of which the first that fits is taken."""
FRAMED = 0.12
"""How often an English request is put into a pack's frame, and not into a construction of ours."""
VARIED = 0.5
"""How often a request comes with another verb, or a noun for its verb, where one says the same."""
_ABBREVIATED = re.compile(
    r"(?:\b[^\W\d_]\.|\b(?:bros|co|corp|etc|inc|jr|ltd|no|sr|st|vs)\.)[.?!]*\s*\Z", re.IGNORECASE
)
"""A sentence that ends so may go on behind it, and its stop is the word's own: `Washington D.C.`"""
_NAME_WITH_MARK = re.compile(r"[\w,] [A-Z]\w*!")
"""So is the mark of a name: `Yahoo! Finance`."""
_LISTED = re.compile(r"(?m)^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+")
"""Where an entry of a list begins: nobody words each in another way."""
_COLON = re.compile(r":\s+\S|：\S")
"""What stands behind a colon may be needed as it stands."""
NO_FORM = "no sentence has a form that can surely be said in another one"


@operator(
    OPERATOR,
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("query_paraphrase", "QueryPara"),
    source="RobustBench-TC, table 1 and appendices C and F (Observation); by rule here, by a model there",
    effect=Effect.REWORDS,
    version=7,
)
class Paraphrase:
    """The same meaning in other constructions: a command as a question, a wish or a statement and back, a
    question within a statement, the thing itself asked for in place of the deed that brings it, a clause
    moved, another verb of asking, the frames of the phrase packs. No word of what is asked for is exchanged.

    Severity: the share of the sentences that can be said in another construction which are. Protected
    entities stay, in their order. English by construction and by frames; German, Spanish, French, Chinese,
    Japanese and Arabic by fewer constructions, by frames where the request can be read off surely, and else
    by other words of asking. A greeting comes to the first message only, and never alone.
    Where no sentence has such a form, the event is withheld and says so, unless a model writes.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not is_prose(target.text):
            return None
        # What tools say is remembered for one list of them.
        target = replace(target, tools=ToolList.of(target.tools))
        setting = find_setting(target)
        # All is drawn whatever the severity is, so that more of it means more of the same.
        found = [] if setting is None else list(_draw_candidates(target, setting, rng))
        chosen = [one for one in found if rng.chance(severity)]
        if not found:
            why = NO_PACK if setting is None else NO_FORM
            return {"edits": [], UNABLE: why} if rng.chance(severity) else None
        if not chosen:
            return None
        names = [one["phrase"] for one in chosen if "phrase" in one]
        edits = [{name: one[name] for name in ("at", "was", "now")} for one in chosen]
        return {"edits": edits, "phrases": names} if names else {"edits": edits}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        count = len(draw["edits"])
        what = "in one sentence" if count == 1 else f"in {count} sentences"
        return Result(apply_edits(target.text, draw["edits"]), f"The user's message was reworded {what}.")


@written_form(OPERATOR)
class ParaphraseWording:
    """RobustBench-TC, appendix F: a paraphrase of the query that keeps every entity. The guard refuses one
    that lost an entity, changed their order, or brought in a number."""

    ahead = False

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        extent = EXTENT[min(2, int(3 * severity))]
        task = (
            "Say what the user says in other words, in the user's own voice, speaking to the same "
            f"assistant. Change {extent}. Keep every request and condition, add none. Keep every id, "
            "number, date, name, quotation and technical term exactly as it is, and in the same order."
        )
        return task, target.text

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        return Result(
            read_text(text, 200 + 3 * len(target.text), like=target.text), "The message was reworded."
        )


def _draw_candidates(target: UserTarget, setting: Setting, rng: SeededRandom) -> Iterator[dict[str, Any]]:
    """For each sentence that has one, another form of it, in the text's order. A call may need a question or
    a whole message as it stands."""
    text, language = target.text, setting.language
    named = read_named_words(ToolList.of(target.tools))
    if named.takes_message:
        return
    requests = {
        one.start: one
        for one in find_requests(text, language)
        if one.infinitive.partition(" ")[0] not in _NO_DEEDS
    }
    drawn = PhraseDraw(target, setting, rng, OPERATOR)
    literals = [(one.start, one.end) for one in find_literals(text)]
    spoken = ""
    listed = next((match.start() for match in _LISTED.finditer(text)), len(text))
    for start, end in split_sentences(text):
        begin = start + len(text[start:end]) - len(text[start:end].lstrip())
        stop = start + len(text[start:end].rstrip())
        if begin >= listed or _is_bound(text, begin, stop, language):
            continue
        opens = not target.ordinal and _NOT_BLANK.search(text, 0, begin) is None
        literal = any(a < stop and begin < b for a, b in literals)
        one = _Sentence(text, begin, stop, language, requests.get(begin), literal, opens)
        said, phrase = _draw_form(one, drawn, named, spoken, rng)
        sentence = one.words
        if (
            said is None
            or said.lower() == sentence.lower()
            or (one.request and _loses(said, sentence, language))
        ):
            continue
        if find_lost(sentence, said, target.tools) is not None:
            continue
        if _NOT_BLANK.search(text, stop) and "\n" not in text[stop : stop + 1]:
            said = rewrites.end_sentence(said, "。" if language in UNSPACED else ".")
        if language is Language.EN:
            first = target.ordinal == 0
            said = _type_small(said, sentence) if is_small(text) else said
            polite = greetings.add_courtesy(said, text, spoken, begin, stop, rng, first=first)
            if find_lost(sentence, polite, target.tools) is None:
                said = polite  # Behind a greeting a name would lose its capital.
            spoken = f"{spoken} {said}"
        edit = make_edit(begin, sentence, said)
        yield edit if phrase is None else edit | {"phrase": phrase}


_NO_DEEDS = ("given", "hope", "like", "love", "mean", "thank", "with")
"""What reads as a verb of asking, and is none: `like 12.34 as the input`."""
_WORDS = re.compile(r"[^\W_]+")
_NOT_BLANK = re.compile(r"\S")
_ASKED_BY = 6
"""Words that ask, at most, before what is asked for."""
_COURTEOUS = frozenset("for it kindly me please pls thank thanks you".split())


def _loses(said: str, sentence: str, language: Language) -> bool:
    """Whether a part of what is asked for is gone, or the sentence asks politely twice."""
    if language is not Language.EN:
        return courtesies.says_please_twice(said, sentence, language)
    kept = {*_WORDS.findall(said.lower())}
    return not kept.issuperset({*_WORDS.findall(sentence.lower())[_ASKED_BY:]} - _COURTEOUS)


def _type_small(said: str, sentence: str) -> str:
    """The form as a user types who begins with a small letter, and with no stop where they have none."""
    first = said.split(" ", 1)[0].rstrip(",!")
    named = first in sentence and first[:1].isupper()
    said = said if named else re.sub(r"\bI(?=\b)", "i", said[:1].lower() + said[1:])
    return said if sentence[-1:] in ".?!" else said.rstrip(".?")


class _Sentence(msgspec.Struct, frozen=True, gc=False):
    text: str
    """The whole message, of which it is text[begin:stop]."""
    begin: int
    stop: int
    language: Language
    request: Request | None
    literal: bool
    """Whether it holds a quotation."""
    opens: bool
    """Whether it opens the conversation."""

    @property
    def words(self) -> str:
        return self.text[self.begin : self.stop]

    @property
    def alone(self) -> bool:
        around = (_NOT_BLANK.search(self.text, 0, self.begin), _NOT_BLANK.search(self.text, self.stop))
        return around == (None, None)


def _draw_form(
    one: _Sentence, drawn: PhraseDraw, named: NamedWords, spoken: str, rng: SeededRandom
) -> tuple[str | None, str | None]:
    """Another form of a sentence, and the pack's entry that it is framed by."""
    if one.language is not Language.EN:
        return _draw_foreign(one, drawn, named, rng)
    for _ in range(_TRIES):
        if one.request is not None:
            said, phrase = _draw_request(one, drawn, rng)
        else:
            said, phrase = _draw_other(one.words, Language.EN, named, rng, literal=one.literal), None
        if said is None or not greetings.is_off(said, one.words, f"{one.text} {spoken}"):
            return said, phrase
    return None, None


def _draw_foreign(
    one: _Sentence, drawn: PhraseDraw, named: NamedWords, rng: SeededRandom
) -> tuple[str | None, str | None]:
    """The same for other languages. What can't be read surely is asked in another form. A greeting or thanks
    alone say nothing in other words, so that none comes."""
    language, sentence = one.language, one.words
    own_deed = foreign_rewrites.is_own_deed(sentence, language)
    said, phrase = None, None
    if one.request is not None and not own_deed:
        said, phrase = _draw_request(one, drawn, rng)
    else:
        said = _draw_other(sentence, language, named, rng, literal=one.literal)
    if own_deed or (said is not None and said != sentence):
        return said, phrase
    forms = courtesies.ask_otherwise(sentence, language)
    return rng.choice(forms) if forms else None, None


def _is_bound(text: str, begin: int, stop: int, language: Language) -> bool:
    """Whether what the sentence says may be needed as it stands, or it goes on behind its stop."""
    sentence = text[begin:stop]
    if _ABBREVIATED.search(sentence) or _NAME_WITH_MARK.search(text, begin, stop) or _COLON.search(sentence):
        return True
    return language is not Language.EN and PASSED_ON.search(sentence) is not None


def _draw_other(
    sentence: str, language: Language, named: NamedWords, rng: SeededRandom, *, literal: bool
) -> str | None:
    """Another form of a sentence that is no request."""
    if language is not Language.EN:
        free = not named.takes_question or foreign_rewrites.is_own_affair(sentence, language)
        forms = foreign_rewrites.rewrite_sentence(sentence, language) if free else []
    elif named.takes_question or literal:
        forms = []
    else:
        forms = [one for one in rewrites.rewrite_sentence(sentence) if one != sentence]
    return rng.choice(forms) if forms else None


def _draw_request(one: _Sentence, drawn: PhraseDraw, rng: SeededRandom) -> tuple[str | None, str | None]:
    """The request in another sentence, and the pack's entry that it is framed by."""
    request, english = one.request, one.language is Language.EN
    assert request is not None
    varied = verb_changes.vary_verb(request.infinitive) if english else ()
    other = rng.chance(VARIED)
    asked = rng.choice(varied) if varied and other else request.infinitive
    said, phrase = None, None
    framed = rng.chance(FRAMED) and not request_forms.is_spliced(asked)
    if not english or framed:
        doer = Doer.USER if request_forms.is_wish(one.words) else request.doer
        said, phrase = _draw_frame(one, msgspec.structs.replace(request, infinitive=asked, doer=doer), drawn)
    if said is None and english:
        wished, passed_on = request_forms.is_wish(one.words), find_open_end(one.words) is not None
        forms = request_forms.rewrite_request(asked, request.doer, wished=wished, open=passed_on)
        said = rng.choice(forms) if forms else None
    if said is None:
        return None, None
    opening = request.opening.rstrip(",")
    if opening:
        comma = "" if opening.lower() in ("and", "so", "then") else ","
        said = f"{opening}{comma} {rewrites.lower_first(said)}"
    return said, phrase


def _draw_frame(one: _Sentence, request: Request, drawn: PhraseDraw) -> tuple[str | None, str | None]:
    """The request in a pack's frame."""
    asked, small = request.infinitive, is_small(one.text)

    def accept(entry: Entry) -> bool:
        greets = frames.greets(entry) and not one.opens
        return not greets and frames.fits(entry, request, one.language, alone=one.alone, small=small)

    found = drawn.draw("frame", accept, {"request": asked})
    if found is None:
        return None, None
    said = found.text
    if said.startswith(asked) and said[:1].isascii():
        said = said[0].upper() + said[1:]
    return said, found.entry
