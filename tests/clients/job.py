"""What a client is given, and what it gives back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.testing import Decide
from tests.clients import shop
from tests.clients.kinds import KINDS, Kind

MODEL = "small"


@dataclass(frozen=True, slots=True)
class Job:
    """Where a client finds its model: a base URL and a key, nothing else."""

    base_url: str
    """OpenAI's form: with the version segment."""
    anthropic_base_url: str
    """Anthropic's form: without it."""
    api_key: str
    stream: bool
    patient: bool = False
    """Whether answers are to fail, so that the client asks again."""

    def as_json(self) -> str:
        """The job for a client in another process, with the dialogue that it is to lead."""
        task = {
            "model": MODEL,
            "system": shop.SYSTEM,
            "questions": shop.QUESTIONS,
            "tools": [
                {"name": name, "description": description, "parameters": parameters}
                for name, (description, parameters) in shop.TOOLS.items()
            ],
            "records": {"get_order": shop.ORDERS, "get_user": shop.USERS, "get_item": shop.ITEMS},
        }
        urls = {"base_url": self.base_url, "anthropic_base_url": self.anthropic_base_url}
        return json.dumps(
            {**urls, "api_key": self.api_key, "stream": self.stream, "patient": self.patient, "task": task}
        )


@dataclass(slots=True)
class Outcome:
    """What a client had in the end: all of it JSON."""

    answers: list[str] = field(default_factory=list)
    """What its user was told, one text per question."""
    calls: list[Any] = field(default_factory=list)
    """The tools that it ran: [name, arguments]."""
    history: Any = None
    """Its own account of the conversation, and whatever else it was told: usage, counts, its tools."""


@dataclass(slots=True)
class Desk:
    """The client's own tools. KeyError where a call is to none of them."""

    calls: list[Any] = field(default_factory=list)

    def run(self, name: str, arguments: Any) -> str:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        self.calls.append([name, given])
        return shop.run_tool(name, given)


async def put_questions(
    history: list[Any],
    ask: Callable[[], Awaitable[tuple[str, Sequence[Any]]]],
    *,
    message: Callable[[str], Any] = lambda question: {"role": "user", "content": question},
) -> list[str]:
    """Put every question, and give the answers. `ask` adds the model's next message to the history, and gives
    its text and the results of its calls, none where there is nothing more to look up."""
    answers = []
    for question in shop.QUESTIONS:
        history.append(message(question))
        while True:
            text, results = await ask()
            if not results:
                break
            history += results
        answers.append(text)
    return answers


Converse = Callable[[Job], Awaitable[Outcome]]

PLAIN, STREAM = "plain", "streaming"


@dataclass(frozen=True, slots=True)
class Row:
    """A client with a protocol: a line of the matrix for plain answers, and one for streamed ones."""

    client: str
    protocol: str
    converse: Converse
    package: str
    """The package whose version is told, as `ecosystem:name`."""
    modes: tuple[str, ...] = (PLAIN, STREAM)
    needs: str | None = None
    """What has to be there beside this environment: a tool that `make clients` looks for."""
    spared: tuple[str, ...] = ()
    """The kinds of noise that touch its protocol but not it."""
    policy: Decide = shop.policy
    answers: tuple[str, ...] = shop.ANSWERS
    rewrites: bool = False
    """Whether the client rewrites its history, so that a request doesn't begin with the one before."""

    @property
    def name(self) -> str:
        return f"{self.client} / {self.protocol}"

    @property
    def noise(self) -> list[Kind]:
        """The kinds of noise that touch it."""
        return [kind for kind in KINDS if self.protocol in kind.touches and kind.name not in self.spared]


def dumped(values: Iterable[Any]) -> list[Any]:
    """pydantic models as JSON documents, what was not set left out."""
    return [
        one if isinstance(one, dict) else one.model_dump(mode="json", exclude_unset=True) for one in values
    ]
