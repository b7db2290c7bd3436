"""A user who tries how far the agent goes, and takes no for an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import operator
from crosswind.injectors.operators.user.probes import PROBES, YIELDS
from crosswind.injectors.operators.user.sentences import appended, is_prose
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Recovery, Result, UserTarget


@operator(
    "user.boundary_probing",
    site=Site.USER_TEXT,
    recovery=Recovery.NONE_NEEDED,
    aliases=("boundary",),
    source="AgentNoiseBench section 2.2.1 (limits of knowledge) and appendix B (probing the rules)",
)
@dataclass(frozen=True)
class BoundaryProbing:
    """Probes of the agent's limits behind the request: of its policy, or of its knowledge (drawn evenly).

    Severity: the number of probes is binomial with mean 2 x severity (2 trials). `policy` goes slightly past
    the rules and accepts a refusal beforehand, `knowledge` asks what the agent can hardly know and accepts
    that, too. The paper's definition is the latter and its example the former. The request is kept whole.
    """

    target: Literal["policy", "knowledge"] | None = None
    """Which limits are probed; absent: drawn evenly."""

    def draw(self, target: UserTarget, rng: Stream, severity: float) -> Draw | None:
        count = sum(rng.uniform() < severity for _ in range(2))
        drawn = rng.choice(("policy", "knowledge"))
        kind = self.target or drawn
        probes = rng.sample(PROBES[kind], 2)
        if count == 0 or not is_prose(target.text):
            return None
        return {"target": kind, "probes": probes[:count]}

    def apply(self, target: UserTarget, draw: Draw) -> Result:
        text = appended(target.text, (*draw["probes"], YIELDS[draw["target"]]))
        what = "A probe" if len(draw["probes"]) == 1 else "Two probes"
        return Result(text, f"{what} of the agent's {draw['target']} came with the user's request.")
