"""English questions asked within another sentence: `Who won?` as `Can you tell me who won?`

A question is turned round only where it is sure where its subject ends.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.operators.user.paraphrase.facts import ask_for_fact
from crosswind.injectors.text.word_lists import make_pairs, make_phrases

_ASKING = make_phrases(
    """
    Can you tell me {}? | Could you tell me {}? | Do you know {}? | I'd like to know {}. |
    I need to know {}. | I want to know {}. | Please tell me {}. | Can you let me know {}? |
    Could you let me know {}? | I was wondering {}. | I'm wondering {}. | Tell me {}. |
    Could you please tell me {}? | Can you please tell me {}? | Let me know {}. | Any idea {}? |
    Can you find out {}? | Could you find out {}? | I'm trying to find out {}. | I would like to know {}. |
    Do you happen to know {}? | Would you be able to tell me {}? | Please let me know {}. |
    I need to find out {}. | I'd like to find out {}. | Can you help me find out {}? | I wonder {}. |
    I was hoping you could tell me {}. | I'd like you to tell me {}. | I need you to tell me {}. |
    Would you please tell me {}? | Do you have any idea {}? | I was wondering if you could tell me {}. |
    Can you check {}? | Could you check {}? | Please check {}. | Please find out {}. |
    Could you possibly tell me {}? | I want to find out {}. | Can you please find out {}?
    """
)
_WHETHER = make_phrases(
    """
    Can you tell me if {}? | Could you tell me whether {}? | Do you know if {}? | Can you check if {}? |
    Can you check whether {}? | Could you check if {}? | Could you check whether {}? |
    I'd like to know if {}. | I'd like to know whether {}. | I need to know if {}. | Please check if {}. |
    I was wondering if {}. | I'm wondering if {}. | Please tell me if {}. | Can you let me know if {}? |
    I want to know if {}. | Let me know if {}. | Could you let me know whether {}? | Tell me if {}. |
    Can you find out if {}? | I need to know whether {}. | Could you please check if {}? | I wonder if {}. |
    Check if {}. | Can you see if {}? | I'd like to find out if {}. | I was hoping you could tell me if {}. |
    Could you find out whether {}? | Any idea if {}? | Would you please check if {}? |
    Do you happen to know if {}? | I'd like you to check if {}. | Can you please tell me if {}? |
    I was wondering whether {}. | I need you to check if {}. | Could you possibly check if {}? |
    Please find out if {}. | I need to find out if {}.
    """
)
_LONG = 24
"""Words of the longest question that stands within another sentence."""
_WORD_IN = r"(?:what|which|who|whose|where|when|why|how)"
_QUESTION = re.compile(r"(?P<asked>(?:[A-Z][^?!;:\n]{7,220}))\?")
_BEGINS = re.compile(
    r"(?:What|Which|Who|Whose|Where|When|Why|How|Is|Are|Was|Were|Does|Did|Has|Have|Will|Do)(?:['’]s)?\b"
)
_OPENERS = make_phrases(
    """
    Quick question: {} | I have a question: {} | Just wondering, {} | I have a quick question: {} |
    A quick question: {} | I'd like to know: {} | Could you tell me: {} | Just a quick question: {} |
    Can you tell me: {} | I wanted to ask: {} | Please tell me: {} | I was just wondering, {} |
    I need to know: {} | Here's my question: {} | I'd like to ask: {} | My question is: {}
    """
)
_SUBJECT = (
    r"(?:I|we|they|it|he|she|there|(?:the|my|our|his|her|their|this|that) (?:[\w'’-]+ ){0,2}?[\w'’-]+"
    r"|[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3})"
)
_PRONOUN = r"(?:I|we|you|they|it|he|she|there)"
_ASKED_THING = rf"(?:{_WORD_IN}(?: (?!do\b|does\b|did\b|is\b|are\b|was\b|were\b)[\w'’-]+){{0,4}}?)"
_BE = r"(?:is|are|was|were)"
_BE_LAST = re.compile(
    rf"(?P<word>what|who|where|when|how (?:tall|old|long|far|high|big|large|deep|wide|heavy|expensive|much))"
    rf"(?P<be>['’]s| {_BE}) (?P<subject>(?:the|my|our|his|her|their|this|that|a|an) [^,]{{2,60}}"
    r"|[A-Z][\w.'’-]*(?: (?:[A-Z][\w.'’-]*|of|the)){0,4})",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\w+ed|born|broken|built|bought|cut|done|drawn|driven|found|given|held|hidden|hit|kept|known|led|left|lost|made"
    r"|paid|put|sent|set|shot|shown|sold|spoken|stolen|taken|taught|told|won|written|open|closed|free|available|due"
)
_LIKE = re.compile(
    r"what(?:['’]s| (?P<be>is|was)) (?P<subject>(?:the|my|our) (?:[\w'’-]+ ){1,3}?)like\b(?P<rest>.*)",
    re.IGNORECASE,
)
_WHAT = re.compile(
    r"what(?:['’]s| is| are| was| were) (?P<of>(?:the|my|our|his|her|their) .+)", re.IGNORECASE
)
_OF_STATE = re.compile(
    r" (?:like|called|named|made|done|going|doing|about|for|at|in|on|to)\Z|\b(?:that|if|when|like)\b"
)
_SECOND = re.compile(r",? (?:and|or|but) (?:what|who|where|when|how|which|why|is|are|do|does|did|can|will)\b")
"""Another question within the same sentence."""
_WOULD_BE = re.compile(
    r"(?P<asked>what|how (?:much|long|high|big)|when|where) (?P<aux>would|will|could|should) "
    r"(?P<subject>(?:the|my|our|a|an) [\w'’-]+(?: [\w'’-]+){0,3}?) (?P<rest>(?:be|cost|take|look)\b.*)",
    re.IGNORECASE,
)
_NOT_LAST = re.compile(
    r"\b(?:I|we|you|that|which|who|being|like|going|called|named|located|made|done|for|and|or|to|on|at"
    r"|now|today"
    r"|tonight|tomorrow|right|currently|this (?:week|month|year)|in|with|if|when|by|from|as|than|\w+ing)\b"
)
_MODAL = re.compile(
    rf"(?P<asked>{_ASKED_THING}) (?P<aux>can|could|will|would|should|have|has|had|am|are|is|was|were) "
    rf"(?P<subject>{_PRONOUN}) (?P<rest>.+)",
    re.IGNORECASE,
)
_DO = re.compile(rf"(?P<asked>{_ASKED_THING}) (?P<aux>do|does|did) (?P<rest>.+)", re.IGNORECASE)
_IS_DOING = re.compile(
    rf"(?P<asked>why|when|where|how) (?P<aux>is|are|was|were) (?P<subject>{_SUBJECT}) (?P<rest>\w+ing\b.*)",
    re.IGNORECASE,
)
_MOST_SUBJECT = 7
"""Words of the longest subject before which `do` stands."""
_DETERMINERS = frozenset(
    "a an the my our his her their this that these those to of in for at your next last".split()
)
_IRREGULAR = make_pairs(
    """
    build:built buy:bought come:came cost:cost cut:cut fall:fell begin:began do:did drive:drove eat:ate
    find:found fly:flew get:got give:gave go:went have:had hit:hit leave:left lose:lost make:made mean:meant
    meet:met put:put read:read run:ran say:said see:saw sell:sold send:sent set:set sleep:slept spend:spent
    take:took tell:told think:thought win:won write:wrote
    """
)
_REGULAR = frozenset(
    """
    accept add apply arrive ask belong close contain cover include mention offer own play serve support
    book burn call cancel change close complete consume depart end earn expire finish happen last leave
    miss need open order owe pass play post receive register reply reserve save score sign start stop
    transfer use visit walk want weigh work
    """.split()
)
_BY_SUBJECT = re.compile(
    r"(?P<who>who|what|which (?:[\w-]+ ){0,2}?[\w-]+|how many (?:[\w-]+ ){0,2}?[\w-]+) (?P<verb>(?:has|have"
    r"|had|won|wrote|painted|invented|directed|discovered|made|makes|owns|plays?|played|sings?|sang|founded"
    r"|designed|composed|built|causes?|caused|happened|happens|signed|joined|attended|viewed|bought|offers?"
    r"|includes?|contains?|needs?|fl(?:y|ies)|goes|go|works?|live|lives|belongs?|accepts?|serves?)\b.*)",
    re.IGNORECASE,
)
_BY_BE = re.compile(
    r"(?P<who>which|how (?:many|much)) (?P<of>(?:[a-z-]+ ){1,3})(?P<be>are|is|was|were|have|has|had) "
    r"(?P<rest>(?:been|in|on|at|left|available|needed|required|showing|playing|open|free|won|lost|still"
    r"|due|active|online|missing|new)\b.*)",
    re.IGNORECASE,
)
_YES_BE = re.compile(
    rf"(?P<be>is|are|was|were) (?P<subject>{_SUBJECT}(?: (?:of|to|from|in|for) (?:the |my )?[\w'’-]+)?) "
    r"(?P<rest>(?:(?:still|already|currently|really|now|always) )?(?:open|closed|available|on|off|in|at"
    r"|locked|unlocked|working|running|free|included|ready|full|empty|due|down|up|online|delayed|safe"
    r"|expensive|cheaper|covered|a|an|paid|\w+ed|\w+able)\b.*)",
    re.IGNORECASE,
)
_YES_HAS = re.compile(
    rf"(?P<be>has|have) (?P<subject>{_SUBJECT}) (?P<rest>(?:been|\w+ed|gone|come|sent|paid|left)\b.*)",
    re.IGNORECASE,
)
_YES_PRONOUN = re.compile(
    rf"(?P<be>is|are|was|were|has|have|will|can|could|should"
    rf"|would) (?P<subject>(?!you\b){_PRONOUN}) (?P<rest>.+)",
    re.IGNORECASE,
)
_YES_DO = re.compile(r"(?P<aux>does|did|do) (?P<rest>(?!you\b).+)", re.IGNORECASE)


@lru_cache(512)
def rewrite_question(sentence: str) -> tuple[str, ...]:
    """The question within other sentences, and with words before it that say that it is one."""
    match = _QUESTION.fullmatch(sentence)
    if match is None or _BEGINS.match(sentence) is None:
        return ()
    asked = _lower(match["asked"].rstrip())
    if re.match(
        r"what (?:do|should) I do\b|(?:is|are) there any (?:way|chance)\b|(?:how|what) about\b|how are you\b",
        asked,
    ):
        return ()
    if (what := _WHAT.fullmatch(asked)) is not None and not _OF_STATE.search(what["of"]):
        found = [one for one in ask_for_fact(f"tell me {what['of']}") if not one.startswith("What")]
        if found:
            return tuple(found)
    if len(asked.split()) <= _LONG and not _SECOND.search(asked):
        if (said := _turn_round(asked)) is not None:
            return tuple(form.format(said) for form in _ASKING)
        if (said := _turn_choice(asked)) is not None:
            return tuple(form.format(said) for form in _WHETHER)
    return tuple(form.format(_lower(sentence)) for form in _OPENERS)


def _turn_round(asked: str) -> str | None:
    """A question for something as part of a sentence: `how much I spent`."""
    if _BY_BE.fullmatch(asked) or _BY_SUBJECT.fullmatch(asked):
        return asked
    for pattern in (_WOULD_BE, _MODAL, _IS_DOING):
        if (match := pattern.fullmatch(asked)) is not None:
            return f"{match['asked']} {match['subject']} {match['aux']} {match['rest']}"
    if (match := _DO.fullmatch(asked)) is not None:
        said = _state(match["rest"], match["aux"].lower())
        return None if said is None else f"{match['asked']} {said}"
    return _turn_be(asked)


def _turn_be(asked: str) -> str | None:
    """`what the weather is like`, `where the keys are`."""
    if (match := _LIKE.fullmatch(asked)) is not None:
        return f"what {match['subject']}{match['be'] or 'is'} like{match['rest']}"
    if (match := _BE_LAST.fullmatch(asked)) is None or _NOT_LAST.search(match["subject"]):
        return None
    be = match["be"].strip().lower()
    be = be if be.isalpha() else "is"
    subject, _, last = match["subject"].rpartition(" ")
    if _DONE.fullmatch(last):  # `When was it built` is about what was done, not about a thing.
        return f"{match['word']} {subject} {be} {last}"
    return f"{match['word']} {match['subject']} {be}"


def _state(rest: str, aux: str) -> str | None:
    """What stands behind `do`, `does` or `did`, as a statement: `the last train leaves`."""
    words = rest.split(" ")
    for at in range(1, min(len(words), _MOST_SUBJECT + 1)):
        verb = _inflect(words[at], aux)
        if verb is not None and words[at - 1].lower() not in _DETERMINERS:
            return " ".join([*words[:at], verb, *words[at + 1 :]])
    return None


def _turn_choice(asked: str) -> str | None:
    """A question for yes or no: `the garage door is open`."""
    if (
        match := _YES_BE.fullmatch(asked) or _YES_HAS.fullmatch(asked) or _YES_PRONOUN.fullmatch(asked)
    ) is not None:
        return f"{match['subject']} {match['be']} {match['rest']}"
    if (match := _YES_DO.fullmatch(asked)) is not None:
        return _state(match["rest"], match["aux"])
    return None


def _inflect(verb: str, aux: str) -> str | None:
    """The verb in the tense and number of its auxiliary; None where that isn't sure."""
    if verb not in _IRREGULAR and verb not in _REGULAR:
        return None
    if aux == "do":
        return verb
    if aux == "does":
        end = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
        return {"have": "has", "fly": "flies"}.get(verb, verb + end)
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    doubled = {"stop": "stopped", "transfer": "transferred", "reply": "replied", "apply": "applied"}
    return doubled.get(verb, verb + ("d" if verb.endswith("e") else "ed"))


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
