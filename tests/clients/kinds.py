"""The kinds of noise, each as a profile that hardly leaves a dialogue alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of noise: operators, by name or glob, with their dose."""

    name: str
    operators: tuple[str, ...]
    severity: float
    probability: float
    touches: tuple[str, ...]
    """The protocols on which it acts."""
    compose: str = "all_of"
    in_texts: bool = False
    """Whether it changes what the user says or what the tools give."""
    seed: int = 7
    failing: bool = False
    """Whether answers don't come, or come unusable: a client that wants one asks again."""

    @property
    def profile(self) -> str:
        return f"matrix-{self.name.replace(' ', '-')}"

    @property
    def sites(self) -> tuple[str, ...]:
        """What the names of its operators begin with."""
        return tuple(operator.partition("*")[0] for operator in self.operators)

    @property
    def yaml(self) -> str:
        rules = "".join(
            f"  - {{operator: '{operator}', severity: {self.severity}, "
            f"when: {{probability: {self.probability}}}}}\n"
            for operator in self.operators
        )
        return (
            f"name: {self.profile}\nversion: 1\ncompose: {self.compose}\nassume_tools: replayable\n"
            f"bounds: {{faults_per_call: 2, faults_per_session: 6}}\nrules:\n{rules}"
        )


CHAT, MESSAGES, RESPONSES = "Chat Completions", "Messages", "Responses"
COMPLETIONS, EMBEDDINGS = "Completions", "Embeddings"
TALKING = (CHAT, MESSAGES, RESPONSES)
READ = (*TALKING, COMPLETIONS, EMBEDDINGS)
BROKEN = (
    "transport.reset",
    "transport.sse_cut",
    "transport.status",
    "transport.truncated_body",
    "transport.wrong_content_type",
)
SLOW = ("transport.latency", "transport.bandwidth", "transport.first_token_delay", "transport.sse_stall")
KINDS = (
    Kind("users", ("user.*",), 0.6, 0.6, (*TALKING, COMPLETIONS), in_texts=True),
    Kind("tool results", ("tool.*",), 0.6, 0.15, TALKING, in_texts=True),
    Kind("state", ("state.*",), 0.6, 1.0, TALKING, in_texts=True),
    Kind("tool schemas", ("schema.*",), 1.0, 1.0, TALKING, compose="one_of", seed=8),
    Kind("slow links", SLOW, 0.005, 1.0, READ),
    Kind("broken links", BROKEN, 0.25, 1.0, READ, failing=True),
    Kind("failing provider", ("model.*",), 0.25, 1.0, (CHAT, MESSAGES), failing=True),
)
