"""The kinds of noise, each as a profile that hardly leaves a dialogue alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of noise. `operators` is the glob of its operators' names."""

    name: str
    operators: str
    severity: float
    probability: float
    touches: tuple[str, ...]
    """The protocols on which it acts."""
    in_texts: bool = True
    """Whether it changes what the user says or the tools give."""

    @property
    def profile(self) -> str:
        return f"matrix-{self.name}"

    @property
    def yaml(self) -> str:
        return (
            f"name: {self.profile}\nversion: 1\ncompose: all_of\nassume_tools: replayable\n"
            "bounds: {faults_per_call: 2, faults_per_session: 6}\n"
            f"rules:\n  - operator: '{self.operators}'\n    severity: {self.severity}\n"
            f"    when: {{probability: {self.probability}}}\n"
        )


TALKING = ("Chat Completions", "Messages")
KINDS = (
    Kind("users", "user.*", 0.6, 0.6, TALKING),
    Kind("tool results", "tool.*", 0.6, 0.15, TALKING),
    Kind("state", "state.*", 0.6, 1.0, TALKING),
    Kind("latency", "transport.latency", 0.01, 1.0, TALKING, in_texts=False),
)
