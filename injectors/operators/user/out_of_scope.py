"""A user who asks, beside the task, for what no tool provides."""

from __future__ import annotations

import json

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.errands import ERRANDS, LEAVES_FREE
from crosswind.injectors.operators.user.sentences import appended, is_prose
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget


@operator(
    "user.out_of_scope",
    site=Site.USER_TEXT,
    recovery=Recovery.IGNORE,
    aliases=("out-of-scope",),
    source="NoisyAgent appendix A, Noise Types (named once; the definition is ours)",
)
class OutOfScope:
    """Requests beside the task that no declared tool provides, marked as ones that may be left undone.

    Severity: the number of requests is binomial with mean 2 x severity (2 trials). A request is made only
    where no declared tool's name, description or parameters speak of it. The user's own words are all kept.
    """

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.uniform() < severity for _ in range(2))
        declared = (f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in target.tools)
        offered = " ".join(declared).lower()
        beyond = [text for text, words in ERRANDS if not any(word in offered for word in words)]
        requests = rng.sample(beyond, 2)[:count]
        if not requests or not is_prose(target.text):
            return None
        return {"requests": requests}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = appended(target.text, (*draw["requests"], LEAVES_FREE))
        what = "A request" if len(draw["requests"]) == 1 else "Two requests"
        return Result(text, f"{what} that no tool provides came with the user's message.")
