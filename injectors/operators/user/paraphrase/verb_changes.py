"""English requests with another verb that says the same before the same object, or with their parts in
another order.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crosswind.injectors.operators.user.paraphrase.replacements import compile_rules
from crosswind.injectors.operators.user.requests.verbs import SURE

_THE = r"(?: (?:the|my|our|this|these|all)\b)"
_VERBS = compile_rules(
    (rf"look at(?={_THE})", ("take a look at", "have a look at")),
    (r"search for(?= )", ("look for", "do a search for", "run a search for")),
    (rf"summari[sz]e(?={_THE}| it\b)", ("give me a summary of",)),
    (rf"describe(?={_THE}| it\b)", ("give me a description of",)),
    (r"explain(?= (?:the|my|this|these)\b)", ("give me an explanation of",)),
    (r"estimate(?= (?:the|my|our|this)\b)", ("give me an estimate of",)),
    (r"plot(?= (?:the|my|our)\b)", ("make a plot of", "draw a plot of")),
    (r"tell me(?= (?:what|which|who|where|when|how|whether|if)\b)", ("let me know",)),
    (r"let me know(?= (?:what|which|who|where|when|how|whether|if)\b)", ("tell me",)),
    (r"calculate(?= (?:the|my|our|how)\b)", ("work out", "compute", "figure out")),
    (r"compute(?= (?:the|my|our|how)\b)", ("calculate", "work out", "figure out")),
    (r"determine(?= (?:the|my|whether|if|how|what|which)\b)", ("work out", "figure out")),
    (r"(?:find out|figure out)(?= (?:what|which|who|where|when|how|whether|if)\b)", ("check",)),
    (r"check(?= (?:if|whether)\b)", ("find out",)),
    (r"check(?= (?:the|my|our)\b)", ("take a look at", "have a look at", "look at")),
    (r"(?:retrieve|obtain|fetch)(?= (?:the|my|our|all)\b)", ("get", "pull up", "get me")),
    (r"display(?= (?:the|my|our|all)\b)", ("show me", "pull up")),
    (r"provide(?: me with)?(?= (?:the|a|an|some)\b)", ("give me", "get me")),
    (r"give me(?= (?:the|a|an|some|directions)\b)", ("get me",)),
    (r"show me(?= (?:the|my|our|all)\b)", ("pull up", "bring up")),
    (r"purchase(?= )", ("buy",)),
    (r"reserve(?= (?:a|an|the|two|three) (?:\w+ )?(?:room|table|seat|car|spot|hotel))", ("book",)),
    (r"book(?= (?:a|an|the|two|three) (?:\w+ )?(?:room|table|seat))", ("reserve",)),
    (r"order(?= (?:a|an|the|some|two|three|four|\d+)\b)", ("place an order for",)),
    (r"recommend(?= (?:a|an|some)\b)", ("suggest",)),
    (r"suggest(?= (?:a|an|some)\b)", ("recommend",)),
    (r"schedule(?= (?:a|an) (?:\w+ )?(?:meeting|call|appointment))", ("set up", "arrange")),
    (r"create(?= (?:a|an) (?:\w+ )?(?:directory|folder|file|list|playlist))", ("make",)),
    (r"generate(?= (?:a|an)\b)", ("create",)),
    (r"transfer(?= [$€£\d])", ("move",)),
    (r"remind me(?= to\b)", ("set me a reminder", "give me a reminder", "set a reminder for me")),
    (r"set (?:up )?a reminder(?= to\b)", ("remind me",)),
    (r"modify(?= (?:the|my|our)\b)", ("change",)),
    (r"help me choose(?= )", ("help me pick",)),
    (r"delete(?= (?:the|my|all|every)\b)", ("remove",)),
    (r"turn (?=(?:on|off) (?:the|my|all)\b)", ("switch ",)),
    (r"turn (?=(?:the|my|all) [\w' -]{2,24} (?:on|off)\b)", ("switch ",)),
    (r"increase(?= (?:the|my) \w+(?: \w+)? to\b)", ("raise",)),
    (r"decrease(?= (?:the|my) \w+(?: \w+)? to\b)", ("lower", "reduce")),
    (r"evaluate(?= the integral\b)", ("calculate", "work out")),
    (r"list(?= (?:the|my|our|all)\b)", ("give me a list of", "show me", "show me a list of")),
    (r"show(?= (?:the|my|our|all)\b)", ("show me",)),
    (r"compare(?= (?:the|these|my)\b)", ("give me a comparison of",)),
    (r"find me(?= )", ("find",)),
    (r"look up(?= (?:the|my)\b)", ("find", "check", "find out")),
    (r"update(?= (?:my|the|our) [\w ]{2,40}? to\b)", ("change",)),
    (r"identify(?= the\b)", ("find", "work out")),
)
"""Verbs, and what says the same before the same object."""
_TO = r"(?P<to>[A-Z][a-z]+|my \w+|our \w+|him|her|them|everyone)"
_DATIVE = re.compile(
    rf"(?P<verb>send|forward|write|give) (?P<what>(?:an?|the|my) (?:\w+ ){{0,2}}?(?:copy|email|file"
    rf"|invitation|link|message|note|photos?|reminder|reply|report|slides|summary|text|update)) to {_TO}"
    r"(?P<rest> (?:saying|that|telling|asking|about)\b.{1,200})?"
)
_PARTICLE = re.compile(
    r"(?P<verb>turn|switch|shut|pull|bring|fill|set|pick|look) (?P<by>on|off|up|down|out) "
    r"(?P<what>(?:the|my|our) [\w'’-]+(?: [\w'’-]+)?)"
)
_SPLIT = re.compile(
    r"(?P<verb>turn|switch|shut) (?P<what>(?:the|my|our) [\w'’-]+(?: [\w'’-]+)?) (?P<by>on|off|up|down)"
)


_STEPS = re.compile(
    rf",? and (?:then )?(?=(?:{'|'.join(sorted(SURE))}) (?:the|a|an|my|our|it|them|me|him|her|all)\b)"
)
_JOINTS = (" and then ", ", then ", " and ", ", and then ")


@lru_cache(512)
def vary_verb(infinitive: str) -> tuple[str, ...]:
    """The request with another verb, or a noun for its verb, or its parts in another order."""
    found = []
    for pattern, forms in _VERBS:
        if (match := pattern.match(infinitive)) is not None:
            found = [form + infinitive[match.end() :] for form in forms]
            break
    if (given := _DATIVE.fullmatch(infinitive)) is not None:
        found.append(f"{given['verb']} {given['to']} {given['what']}{given['rest'] or ''}")
    for pattern, form in ((_PARTICLE, "{verb} {what} {by}"), (_SPLIT, "{verb} {by} {what}")):
        if (moved := pattern.fullmatch(infinitive)) is not None:
            found.append(form.format(**moved.groupdict()))
    steps = _STEPS.findall(infinitive)
    if len(steps) == 1:
        found += [_STEPS.sub(joint, infinitive) for joint in _JOINTS if joint != steps[0]]
    return tuple(found)
