"""The provider's state: its policy, what it saw, what it produced and what it stores."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from tests.clients.upstream.dialogue import Answer, Dialogue, Policy
from tests.clients.upstream.produced import Produced
from tests.clients.upstream.stored import Stored


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it reached the provider."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Provider:
    """A provider that answers by a policy.

    `seen` holds every request in order, `dialogues` what the policy was shown. `complaints` holds what no
    provider would refuse but no client of its own would send: a call that comes back under another name or
    with other arguments than it was made, a seal that is another's.
    """

    policy: Policy
    seen: list[Seen] = field(default_factory=list)
    dialogues: list[Dialogue] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    produced: Produced = field(default_factory=Produced)
    stored: Stored = field(default_factory=Stored)
    interleaved: bool = False
    """Whether the fragments of parallel calls come in turns rather than one call after the other."""
    url: str = ""

    def restart(self, policy: Policy) -> None:
        """Begin anew with this policy, as if nothing had been seen."""
        fresh = Provider(policy)
        for name in ("policy", "seen", "dialogues", "refusals", "complaints", "produced", "stored"):
            setattr(self, name, getattr(fresh, name))

    def of(self, path: str) -> list[Seen]:
        """The requests to a route, such as /v1/messages."""
        return [one for one in self.seen if one.path.split("?")[0] == path]

    def bodies(self, path: str) -> list[Any]:
        return [one.json for one in self.of(path)]

    def new_id(self, prefix: str, part: object = "") -> str:
        """An id that is told apart from all others, and is the same when the same client comes again."""
        return prefix + hashlib.blake2b(f"{len(self.seen)} {part}".encode(), digest_size=12).hexdigest()

    def answer(self, dialogue: Dialogue) -> Answer:
        """The policy's answer. Raises its error where it comes in place of the answer."""
        self.dialogues.append(dialogue)
        self.complaints += self.produced.differing(dialogue)
        answer = self.policy(dialogue)
        if answer.error is not None and not answer.pieces:
            raise answer.error
        if dialogue.forced is not None and dialogue.forced not in {call.name for call in answer.calls}:
            self.complaints.append(f"{dialogue.forced} was to be called, and {answer.calls} were")
        return answer
