"""A user whose mind wanders from the request to something else, and comes back."""

from __future__ import annotations

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.sentences import appended, is_prose
from crosswind.injectors.operators.user.side_topics import COMES_BACK, FIELDS, TURNS_AWAY, field_of
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget


@operator(
    "user.topic_drift",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("topic_shift",),
    source="AgentNoiseBench section 2.2.1 and appendix B (Topic Drift; its example doesn't come back)",
)
class TopicDrift:
    """Side questions: the user's focus moves from the request to something near it, and comes back.

    Severity: the share of the user's turns that drift; half of those that do ask a second side question. The
    message itself is kept word for word. The questions are from the field that the message is about where
    its words tell one, need no tool, and name no value; the last sentence leads back to the request.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        point = rng.uniform()
        questions = rng.sample(FIELDS[field_of(target.text)][1], 2)
        away, back = rng.sample(TURNS_AWAY, 2), rng.choice(COMES_BACK)
        if point >= severity or not is_prose(target.text):
            return None
        count = 2 if point < severity / 2 else 1
        asked = [f"{turn} {question}" for turn, question in zip(away, questions, strict=True)]
        return {"questions": asked[:count], "back": back}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = appended(target.text, (*draw["questions"], draw["back"]))
        what = "A side question" if len(draw["questions"]) == 1 else "Two side questions"
        return Result(text, f"{what} drew the user's message off the subject and back to it.")
