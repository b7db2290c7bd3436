"""What a script decides on, whatever the protocol: the dialogue so far, and the answer to it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosswind.testing.errors import ProviderError
from crosswind.testing.replies import Reply


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool as the request declares it."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MessageItem:
    """A text of the system's, the user's or the assistant's: one per text part."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class CallItem:
    """A call as it came back in the history. `arguments` is the JSON text as it stands."""

    id: str
    name: str
    arguments: str

    @property
    def parsed(self) -> Any:
        """The arguments as a document; None where they are not JSON."""
        try:
            return json.loads(self.arguments or "{}")
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class ResultItem:
    """A tool's result."""

    id: str
    text: str


Item = MessageItem | CallItem | ResultItem


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A request, read the same way for every protocol."""

    items: tuple[Item, ...]
    tools: tuple[DeclaredTool, ...] = ()
    schema: dict[str, Any] | None = None
    """The JSON schema that the answer's text must follow."""
    forced: str | None = None
    """The tool that must be called."""
    parallel: bool = True
    """Whether the answer may hold several calls."""
    body: Any = field(default=None, compare=False)
    """The request's body as it came."""

    def results_of(self, name: str) -> list[tuple[CallItem, ResultItem]]:
        """The calls of a tool that have a result, in order."""
        results = {one.id: one for one in self.items if isinstance(one, ResultItem)}
        calls = (one for one in self.items if isinstance(one, CallItem) and one.name == name)
        return [(one, results[one.id]) for one in calls if one.id in results]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    name: str
    arguments: Any
    """A document; a text is sent as it is, whether it is JSON or not."""
    id: str = ""
    """Empty: an id of the provider's own."""

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class SampledAnswer:
    """The tokens of an answer, as an engine that captures them for training reports them."""

    token_ids: Sequence[int]
    logprobs: Sequence[float]
    prompt_token_ids: Sequence[int] = (1, 2, 3)
    versions: Sequence[Mapping[str, Any]] = ()
    """Which version of the policy sampled what: `{"version": "v1", "start": 0, "end": 2}`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says next."""

    text: str | tuple[str, ...] | None = None
    """A tuple is streamed in these pieces, a text word by word."""
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    refusal: str | None = None
    error: ProviderError | None = None
    """Raised in place of the answer; with `pieces` it breaks a stream off after so many events."""
    pieces: int = 0
    usage: tuple[int, int] | None = None
    """Tokens of the prompt and of the answer; None: counted by words."""
    sampled: SampledAnswer | None = None
    """Given where a chat request asks for token ids or log-probabilities."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Members put into the body as they are, over those that stand there."""
    choice: Mapping[str, Any] = field(default_factory=dict)
    """The same for the choice of a chat completion."""

    @property
    def words(self) -> list[str]:
        """The text in the pieces in which it is streamed."""
        return list(self.text) if isinstance(self.text, tuple) else words(self.text or "")

    @property
    def content(self) -> str | None:
        """The whole text."""
        return "".join(self.text) if isinstance(self.text, tuple) else self.text


Decide = Callable[[Dialogue], Answer | Awaitable[Answer]]
Step = Answer | Decide | Reply
"""An answer, a function that gives one for the dialogue, or a reply that writes its bytes itself."""


def script(*steps: Answer | Decide) -> Decide:
    """Several steps as one: one after the other, the last one again and again."""
    left = list(steps)

    def decide(dialogue: Dialogue) -> Answer | Awaitable[Answer]:
        step = left.pop(0) if len(left) > 1 else left[0]
        return step if isinstance(step, Answer) else step(dialogue)

    return decide


DecideMessage = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Mapping[str, Any]]
"""The assistant's next message, from the messages and the tools of a chat request."""


def answer_messages(decide: DecideMessage) -> Decide:
    """A step from a function that decides in chat messages."""

    def answer(dialogue: Dialogue) -> Answer:
        return read_answer(decide(dialogue.body["messages"], dialogue.body.get("tools") or []))

    return answer


def read_answer(message: Mapping[str, Any]) -> Answer:
    """The answer that an assistant's chat message is."""
    calls = tuple(
        Call(call["function"]["name"], call["function"]["arguments"], call["id"])
        for call in message.get("tool_calls") or ()
    )
    return Answer(message.get("content"), calls)


def words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed and counted: words with the space before them."""
    pieces = text.split(" ")
    return [piece if not number else " " + piece for number, piece in enumerate(pieces)] if text else []


def fragments(text: str) -> list[str]:
    """JSON in the pieces in which it is streamed: cut every 7 characters."""
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def tokens_in(dialogue: Dialogue) -> int:
    """The tokens of a prompt: its words."""
    texts = (
        item.arguments if isinstance(item, CallItem) else item.text
        for item in dialogue.items
        if isinstance(item, CallItem | MessageItem | ResultItem)
    )
    tools = sum(len(words(tool.description)) + 8 for tool in dialogue.tools)
    return sum(len(words(text)) + 3 for text in texts) + tools


def usage_tokens(dialogue: Dialogue, answer: Answer) -> tuple[int, int]:
    """The tokens of a prompt and of its answer: words, and the fragments of calls."""
    if answer.usage is not None:
        return answer.usage
    if answer.sampled is not None:
        return len(answer.sampled.prompt_token_ids), len(answer.sampled.token_ids)
    calls = sum(len(fragments(call.text)) + 3 for call in answer.calls)
    return tokens_in(dialogue), len(answer.words) + len(words(answer.refusal or "")) + calls + 1
