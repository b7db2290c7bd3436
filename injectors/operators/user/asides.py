"""What a user says beside the request: side questions, probes of limits, errands, and preferences.

The message itself is kept word for word, and the added sentences come after it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered, operator, register
from crosswind.injectors.operators.model_text import check_general, read_lines
from crosswind.injectors.operators.user.sentences import append_sentences, is_prose
from crosswind.injectors.operators.words.asides import (
    COMES_BACK,
    COST_CUES,
    ERRANDS,
    FIELD_WORDS,
    LEAVES_FREE,
    PROBES,
    SIDE_QUESTIONS,
    SPEED_CUES,
    TURNS_AWAY,
    YIELDS,
)
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Effect, Recovery, Result, UserTarget
from crosswind.injectors.wording import UnusableText, written_form

PROBE_TASKS = {
    "policy": "asks whether the assistant would go slightly past the rules for this request",
    "knowledge": "asks for something near the subject that the assistant can hardly know",
}
"""What a model is asked to write, by the limits that are probed."""


@operator(
    "user.topic_drift",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("topic_shift",),
    source="AgentNoiseBench section 2.2.1 and appendix B (Topic Drift; its example doesn't come back)",
    effect=Effect.ADDS,
)
class TopicDrift:
    """Side questions: the user's focus moves from the request to something near it, and comes back.

    Severity: the share of the user's turns that drift; half of those that do ask a second side question. The
    message itself is kept word for word. The questions come from the message's own field, where its words
    indicate one; they need no tool and name no value. The last sentence leads back to the request.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        point = rng.uniform()
        questions = rng.sample(SIDE_QUESTIONS[find_field(target.text)], 2)
        away, back = rng.sample(TURNS_AWAY, 2), rng.choice(COMES_BACK)
        if point >= severity or not is_prose(target.text):
            return None
        count = 2 if point < severity / 2 else 1
        asked = [f"{turn} {question}" for turn, question in zip(away, questions, strict=True)]
        return {"questions": asked[:count], "back": back}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = append_sentences(target.text, (*draw["questions"], draw["back"]))
        what = "A side question" if len(draw["questions"]) == 1 else "Two side questions"
        return Result(text, f"{what} drew the user's message off the subject and back to it.")


def find_field(text: str) -> str:
    """The field of which the message uses words; `any` where it uses words of none."""
    lowered = text.lower()
    return next(
        (name for name, words in FIELD_WORDS.items() if any(word in lowered for word in words)), "any"
    )


@written_form("user.topic_drift")
class TopicDriftWording:
    """As many side questions as the rule would ask; the rule's last sentence leads back. They depend on the
    user's first message alone, so that the model can write those of later messages beforehand.
    """

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        count = len(draw["questions"])
        task = (
            f"The material is what a user first asked an assistant. Write {count} side questions, each on a "
            "line of its own, by which the user drifts off to something near the subject: idle curiosity "
            "that needs no tool, orders nothing, and names nothing in particular. They come in the user's "
            f"message number {target.ordinal + 1}."
        )
        return task, target.branch.opening

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        questions = [
            check_general(line) for line in read_lines(text, len(draw["questions"]), like=target.text)
        ]
        if not all(line.endswith(("?", "？", "؟")) for line in questions):
            raise UnusableText("the model wrote something else than questions")
        note = "The user's message drifted off the subject and came back to it."
        return Result(append_sentences(target.text, (*questions, draw["back"])), note)


@operator(
    "user.boundary_probing",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("boundary",),
    source="AgentNoiseBench section 2.2.1 (limits of knowledge) and appendix B (probing the rules)",
    effect=Effect.ADDS,
)
@dataclass(frozen=True)
class BoundaryProbing:
    """Probes of the agent's limits after the request: of its policy, or of its knowledge (drawn evenly).

    Severity: the number of probes is binomial with mean 2 x severity (2 trials). `policy` goes slightly past
    the rules and accepts a refusal beforehand, `knowledge` asks what the agent can hardly know and accepts
    that, too. The paper's definition is of the latter, its example of the former. The request is kept whole.
    """

    target: Literal["policy", "knowledge"] | None = None
    """Which limits are probed; absent: drawn evenly."""

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2, severity)
        drawn = rng.choice(("policy", "knowledge"))
        kind = self.target or drawn
        probes = rng.sample(PROBES[kind], 2)
        if count == 0 or not is_prose(target.text):
            return None
        return {"target": kind, "probes": probes[:count]}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = append_sentences(target.text, (*draw["probes"], YIELDS[draw["target"]]))
        what = "A probe" if len(draw["probes"]) == 1 else "Two probes"
        return Result(text, f"{what} of the agent's {draw['target']} came with the user's request.")


@written_form("user.boundary_probing")
class BoundaryProbingWording:
    """As many probes as the rule would make, of its kind; the rule's last sentence accepts a refusal
    beforehand.
    """

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            f"The material is what a user first asked an assistant. Write {len(draw['probes'])} questions, "
            f"each on a line of its own, in each of which the user {PROBE_TASKS[draw['target']]}. Name "
            f"nothing in particular. They come in the user's message number {target.ordinal + 1}."
        )
        return task, target.branch.opening

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        probes = [check_general(line) for line in read_lines(text, len(draw["probes"]), like=target.text)]
        note = f"Probes of the agent's {draw['target']} came with the user's request."
        return Result(append_sentences(target.text, (*probes, YIELDS[draw["target"]])), note)


@operator(
    "user.out_of_scope",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("out-of-scope",),
    source="NoisyAgent appendix A, Noise Types (named once; the definition is ours)",
    effect=Effect.ADDS,
)
class OutOfScope:
    """Requests beside the task that no declared tool provides, marked as ones that may be left undone.

    Severity: the number of requests is binomial with mean 2 x severity (2 trials). A request is made only
    where no declared tool's name, description or parameters mention it. The user's own words are all kept.
    """

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        count = rng.successes(2, severity)
        declared = (f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in target.tools)
        # An errand that a tool could do would no longer be out of scope.
        offered = " ".join(declared).lower()
        beyond = [text for text, words in ERRANDS if not any(word in offered for word in words)]
        requests = rng.sample(beyond, 2)[:count]
        if not requests or not is_prose(target.text):
            return None
        return {"requests": requests}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = append_sentences(target.text, (*draw["requests"], LEAVES_FREE))
        what = "A request" if len(draw["requests"]) == 1 else "Two requests"
        return Result(text, f"{what} that no tool provides came with the user's message.")


@written_form("user.out_of_scope")
class OutOfScopeWording:
    """As many requests as the rule would make; the rule's last sentence says that they may be left undone."""

    ahead = True

    def ask(self, target: UserTarget, draw: Draw, severity: float) -> tuple[str, str] | None:
        task = (
            "The material says what an assistant's tools can do, and what a user first asked. Write "
            f"{len(draw['requests'])} further requests of the user's, each one sentence on a line of its "
            "own, that none of these tools can serve and that change nothing about the first. Name nothing "
            f"in particular. They come in the user's message number {target.ordinal + 1}."
        )
        tools = {tool.name: tool.description for tool in target.tools}
        return task, json.dumps({"tools": tools, "asked": target.branch.opening}, ensure_ascii=False)

    def apply(self, target: UserTarget, draw: Draw, text: str) -> Result:
        requests = [check_general(line) for line in read_lines(text, len(draw["requests"]), like=target.text)]
        note = "A request that no tool provides came with the user's message."
        return Result(append_sentences(target.text, (*requests, LEAVES_FREE)), note)


class Cue:
    """A preference for a way of doing the task, which makes a tempting tool name tempting."""

    def __init__(self, preference: str, wordings: Sequence[str]) -> None:
        self.preference, self.wordings = preference, wordings

    def draw(self, target: UserTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present, wording = rng.chance(severity), rng.choice(self.wordings)
        return {"cue": wording} if present and is_prose(target.text) else None

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        note = f"A preference for {self.preference} was added to the user's message."
        return Result(append_sentences(target.text, (draw["cue"],)), note)


def _register(name: str, way: str, implementation: Cue, profiles: str) -> None:
    documentation = (
        f"Appends a preference for a {way} way of doing the task: what makes a tempting tool name tempting."
        "\n\nSeverity: the share of messages that carry the cue. The message itself is kept, and the "
        "preference is about the tools used, so that the right tool stays right; beside a distractor of "
        "`schema.*` the true tool is the one that serves it."
    )
    register(
        Registered(
            name,
            Site.USER_TEXT,
            Recovery.IGNORE,
            implementation,
            source=f"RobustBench-TC, appendix C: the cue in the query of {profiles}",
            documentation=documentation,
        )
    )


_register("user.cost_cue", "cheap", Cue("cost", COST_CUES), "MisDesc and MisDesc-N (CD, CD_NT)")
_register("user.speed_cue", "fast", Cue("speed", SPEED_CUES), "TimeDesc and TimeDesc-N (TD, TD_NT)")
