"""One choice of an answer: sampled tokens become text, calls and the fields of OpenAI's objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswind.policies.embedded.calls import CallParser, ParsedCall, ParsedText, Part
from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.request import ChatRequest
from crosswind.policies.embedded.sequence import Sequence

_INCOMPLETE = "\ufffd"


class CompletionChoice:
    """Follows one sequence and gives its deltas; `message` is the whole once it has finished."""

    def __init__(
        self, index: int, request: ChatRequest, chat: ChatFormat, sequence: Sequence, call_prefix: str
    ) -> None:
        self.index = index
        self.sequence = sequence
        self._request = request
        self._chat = chat
        self._parser = CallParser()
        self._call_prefix = call_prefix
        self._taken = 0
        self._text = ""
        self.finished = False
        """Whether every token was taken."""
        self.content = ""
        self.calls: list[ParsedCall] = []

    @property
    def finish_reason(self) -> str:
        """OpenAI's word for how the turn ended."""
        if self.calls and self.sequence.finish == "stop":
            return "tool_calls"
        return str(self.sequence.finish)

    def advance(self) -> tuple[list[Part], int, int]:
        """Take the tokens sampled since the last call: the parts that are certain now, and which tokens they
        were.
        """
        finished = self.sequence.finish is not None  # read before the tokens: then none is missed
        start, end = self._taken, len(self.sequence.tokens)
        self._taken, self.finished = end, finished
        text = self._chat.decode(self.sequence.tokens[:end])
        if finished:
            text = self._cut(text)
        elif text.endswith(_INCOMPLETE) or self._request.stop:
            return [], start, end  # half a character, or what a stop string may yet cut off
        parts = self._split(text[len(self._text) :], finished)
        self._text = text
        for part in parts:
            if isinstance(part, ParsedCall):
                self.calls.append(part)
            else:
                self.content += part.text
        return parts, start, end

    def _cut(self, text: str) -> str:
        """The text up to the first stop string."""
        found = [place for stop in self._request.stop if (place := text.find(stop)) >= 0]
        return text[: min(found)] if found else text

    def _split(self, text: str, finished: bool) -> list[Part]:
        if not self._request.calls:
            return [ParsedText(text)] if text else []
        return self._parser.feed(text) + (self._parser.finish() if finished else [])

    def call_object(self, index: int) -> dict[str, Any]:
        """OpenAI's object of the call of that index."""
        call = self.calls[index]
        return {
            "id": f"{self._call_prefix}{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.content or None}
        if self.calls:
            message["tool_calls"] = [self.call_object(index) for index in range(len(self.calls))]
        elif not self.content:
            message["content"] = ""
        return message

    def logprobs(self, start: int, end: int) -> Mapping[str, Any] | None:
        """OpenAI's log-probability objects of the tokens [start, end); None where they weren't asked for."""
        if not self._request.logprobs:
            return None
        content = []
        sequence = self.sequence
        for place in range(start, end):
            told = self._logprob_object(sequence.tokens[place], sequence.logprobs[place])
            likely = sequence.likeliest[place] if sequence.top else ()
            content.append(told | {"top_logprobs": [self._logprob_object(*pair) for pair in likely]})
        return {"content": content, "refusal": None}

    def _logprob_object(self, token: int, logprob: float) -> dict[str, Any]:
        """A token with its log-probability, named by its text or by its id."""
        text = self._chat.tokenizer.decode([token], skip_special_tokens=False)
        name = f"token_id:{token}" if self._request.token_names else text
        return {"token": name, "logprob": logprob, "bytes": list(text.encode())}

    def versions(self) -> list[dict[str, Any]]:
        """Which version sampled which tokens."""
        return [
            {"version": span.version, "start": span.start, "end": span.end} for span in self.sequence.spans
        ]
