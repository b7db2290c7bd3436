"""What a user says beside the request: side questions, probes of limits, and errands.

The message itself is kept word for word. The phrases are drawn from the packs: they fit the conversation's
language, its domain, its tools and the user's way of addressing the agent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.model_text import read_general_lines
from crosswind.injectors.operators.user.asides.draw import AsideDraw, Closing, apply_asides
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.text.sentences import is_prose
from crosswind.injectors.wording import UnusableText, written_form

PROBE_TASKS = {
    "policy": "asks whether the assistant would go slightly past the rules for this request",
    "knowledge": "asks for something near the subject that the assistant can hardly know",
}
"""What a model is asked to write, by the limits that are probed."""

_RETURN = Closing("return", 0.1, of_questions=True, lead=0.85)
_YIELD = Closing("yield", 0.1, of_questions=True, of_fitted=True, lead=0.6, of_short=True)
_LEAVE = Closing("leave", 0.35, courteous=True, lead=0.6)


@operator(
    "user.topic_drift",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("topic_shift",),
    source="AgentNoiseBench section 2.2.1 and appendix B (Topic Drift; its example doesn't come back)",
    effect=Effect.ADDS,
    version=12,
)
class TopicDrift:
    """Side questions: the user's focus moves from the request to something near it, and comes back.

    Severity: the share of the user's turns that drift. The message itself is kept word for word. The
    question stands behind it, and now and then a sentence leads back. It is about something that the message
    speaks of, about its kind of request, or about everyday life, which the user announces as something else;
    it needs no tool and names no value.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        if not rng.chance(severity) or not is_prose(target.text):
            return None
        asides = AsideDraw(target, rng, "user.topic_drift")
        asides.add("question", _RETURN)
        return asides.finish()

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = "A side question drew the user's message off the subject."
        return Result(apply_asides(target.text, draw), note)


@written_form("user.topic_drift")
class TopicDriftWording:
    """As many side questions as the rule would ask, at its places; the rule's own sentences lead back. They
    depend on the user's first message alone, so that the model can write those of later messages beforehand.
    """

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material is what a user first asked an assistant. "
            f"Write {len(draw['asides'])} side questions, each on a line of "
            "its own, by which the user drifts off to something near the subject: idle "
            "curiosity that needs no tool, orders nothing, and names nothing in particular. They come in the "
            f"user's message number {target.ordinal + 1}."
        )
        return task, target.branch.opening

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        questions = read_general_lines(text, len(draw["asides"]), like=target.text)
        if not all(line.endswith(("?", "？", "؟")) for line in questions):
            raise UnusableText("the model wrote something else than questions")
        note = "The user's message drifted off the subject and came back to it."
        return Result(apply_asides(target.text, draw, questions), note)


@operator(
    "user.boundary_probing",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("boundary",),
    source="AgentNoiseBench section 2.2.1 (limits of knowledge) and appendix B (probing the rules)",
    effect=Effect.ADDS,
    version=12,
)
@dataclass(frozen=True)
class BoundaryProbing:
    """Probes of the limits that the agent has in this domain: of its policy, or of its knowledge (drawn
    evenly).

    Severity: a message has two occasions for a probe, each with this probability, and one probe at most.
    `policy` asks how far the agent may go with this request, or slightly past that; `knowledge` asks what it
    can hardly know of it. Sometimes the user accepts a refusal beforehand. The paper's definition is of the
    latter, its example of the former. The
    request is kept whole.
    """

    target: Literal["policy", "knowledge"] | None = None
    """Which limits are probed; absent: drawn evenly."""

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2, severity)
        drawn = rng.choice(("policy", "knowledge"))
        kind = self.target or drawn
        if count == 0 or not is_prose(target.text):
            return None
        asides = AsideDraw(target, rng, "user.boundary_probing")
        asides.add(kind, _YIELD)
        return asides.finish(target=kind)

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = f"A probe of the agent's {draw['target']} came with the user's request."
        return Result(apply_asides(target.text, draw), note)


@written_form("user.boundary_probing")
class BoundaryProbingWording:
    """As many probes as the rule would make, of its kind and at its places; the rule's own phrase accepts a
    refusal beforehand.
    """

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material is what a user first asked an assistant. Write {len(draw['asides'])} questions, "
            f"each on a line of its own, in each of which the user {PROBE_TASKS[draw['target']]}. Name "
            f"nothing in particular. They come in the user's message number {target.ordinal + 1}."
        )
        return task, target.branch.opening

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        probes = read_general_lines(text, len(draw["asides"]), like=target.text)
        note = f"Probes of the agent's {draw['target']} came with the user's request."
        return Result(apply_asides(target.text, draw, probes), note)


@operator(
    "user.out_of_scope",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("out-of-scope",),
    source="NoisyAgent appendix A, Noise Types (named once; the definition is ours)",
    effect=Effect.ADDS,
    version=11,
)
class OutOfScope:
    """Wishes beside the task that the agent's tools nearly serve, and don't; often the user says that they
    may be left undone.

    Severity: a message has two occasions for a wish, each with this probability, and one wish at most. A wish
    is made only where no declared tool's name or description speaks of it, and beside a request: else it were
    the task. The user's own words are all kept.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2, severity)
        if count == 0 or not is_prose(target.text):
            return None
        asides = AsideDraw(target, rng, "user.out_of_scope")
        if asides.beside_request:
            asides.add("errand", _LEAVE)
        return asides.finish()

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = "A request that no tool provides came with the user's message."
        return Result(apply_asides(target.text, draw), note)


@written_form("user.out_of_scope")
class OutOfScopeWording:
    """As many requests as the rule would make, at its places; the rule's own phrase says that they may be
    left undone."""

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material says what an assistant's tools can do, and what a user first asked. Write "
            f"{len(draw['asides'])} further requests of the user's, each one sentence on a line of its "
            "own, that none of these tools can serve and that change nothing about the first. Name nothing "
            f"in particular. They come in the user's message number {target.ordinal + 1}."
        )
        tools = {tool.name: tool.description for tool in target.tools}
        return task, json.dumps({"tools": tools, "asked": target.branch.opening}, ensure_ascii=False)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        requests = read_general_lines(text, len(draw["asides"]), like=target.text)
        note = "A request that no tool provides came with the user's message."
        return Result(apply_asides(target.text, draw, requests), note)
