"""What a scripted provider knows: its script, what it received, and what it gave out."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from typing import Any

from crosswind.testing.checks import check_members
from crosswind.testing.dialogue import Answer, Call, Dialogue, Step
from crosswind.testing.memory import Issued, Stored
from crosswind.testing.replies import ReceivedRequest


class ProviderState:
    """The script, one step after the other, and the record of what came. The routes answer from it."""

    def __init__(self, *steps: Step, strict: bool, keep: bool, interleaved: bool, names_in_two: bool) -> None:
        self.strict = strict
        """Refuse a request without a key, or with members that the real provider doesn't know."""
        self.keep = keep
        """Keep what was received; without it a long run takes no memory."""
        self.interleaved = interleaved
        """Whether the fragments of parallel calls come in turns rather than one call after the other."""
        self.names_in_two = names_in_two
        """Whether a stream of Chat Completions cuts tools' names in two, as some engines do."""
        self.restart(*steps)

    def restart(self, *steps: Step) -> None:
        """Begin again with this script, as if nothing had been received."""
        self.steps: list[Step] = list(steps) or [Answer("hello")]
        self.requests: list[ReceivedRequest] = []
        """Every request, in order."""
        self.dialogues: list[Dialogue] = []
        """What the script was shown."""
        self.refusals: list[str] = []
        self.complaints: list[str] = []
        """What no provider would refuse but no client of its own would send: a call that comes back under
        another name or with other arguments than it was made, a forced tool that was not called.
        """
        self.client_left = asyncio.Event()
        """Set where a client went away before its answer was complete."""
        self.issued = Issued()
        self.stored = Stored()
        self._count = 0
        """Requests so far."""

    def requests_to(self, path: str) -> list[ReceivedRequest]:
        """The requests to a route, such as /v1/messages."""
        return [one for one in self.requests if one.path.split("?")[0] == path]

    def bodies(self, path: str) -> list[Any]:
        return [one.json for one in self.requests_to(path)]

    def new_id(self, prefix: str, part: object = "") -> str:
        """An id unlike all others, and the same one when the same client comes again."""
        return prefix + hashlib.blake2b(f"{self._count} {part}".encode(), digest_size=12).hexdigest()

    def issue_calls(self, answer: Answer, prefix: str) -> list[tuple[str, Call]]:
        """The answer's calls with their ids; the provider recognises them when they come back."""
        issued = [(call.id or self.new_id(prefix, at), call) for at, call in enumerate(answer.calls)]
        if self.keep:
            for call_id, call in issued:
                self.issued.add_call(call_id, call)
        return issued

    def check_members(self, body: Any, known: frozenset[str], message: str) -> None:
        """400 for a member that the provider doesn't know."""
        if self.strict:
            check_members(body, known, message)

    async def answer(self, dialogue: Dialogue) -> Answer:
        """The script's answer. Raises its error where that comes in place of an answer."""
        if self.keep:
            self.dialogues.append(dialogue)
            self.complaints += self.issued.find_changed(dialogue)
        step = self._next_step()
        given = step(dialogue) if callable(step) else step  # type: ignore[arg-type]
        answer: Answer = await given if inspect.isawaitable(given) else given  # type: ignore[assignment]
        if answer.error is not None and not answer.pieces:
            raise answer.error
        if dialogue.forced is not None and dialogue.forced not in {call.name for call in answer.calls}:
            self.complaints.append(f"{dialogue.forced} was to be called, and {answer.calls} were")
        return answer

    def _next_step(self) -> Step:
        """Take a step of the script; the last one stays."""
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
