"""Read the answers of Chat Completions, plain or in a stream's chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from crosswind.gateway.http.sse import DONE_EVENT, SseEvent
from crosswind.gateway.protocols.answer import UNREAD, Chunk, Passage
from crosswind.gateway.protocols.chat.plain_answer import read_plain
from crosswind.gateway.protocols.chat.text_deltas import Addition, TextDeltas
from crosswind.gateway.protocols.chat.token_chunks import HEAD, TokenChunks
from crosswind.gateway.protocols.choices import ChoicesAnswer
from crosswind.gateway.protocols.json_values import as_mapping, as_mappings, as_object
from crosswind.gateway.protocols.sampled_tokens import SampledChoice, as_logprob, select_likeliest

_MOST = 512
"""The most chunks that are kept unread."""


_IN_PIECES = frozenset({"function", "custom", "function_call", "audio"})
"""Objects whose texts a stream brings piece by piece: names and arguments of calls, and speech."""


class _Pieces(list[str]):
    """A text so far. It is joined only when it is needed: adding each piece would copy all before it."""


class ChatChoice(SampledChoice):
    """One choice so far."""

    message: dict[str, Any] = msgspec.field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)


class ChatAnswer(ChoicesAnswer[ChatChoice]):
    """Reads one answer: messages, and their deltas in a stream."""

    kind = "chat.completion"
    _texts: TextDeltas | None = None
    _skimmed = False
    """The messages of a plain answer weren't read."""

    def __init__(self, *, choices: int, captured: bool, asked: frozenset[str]) -> None:
        super().__init__(choices=choices, captured=captured, asked=asked)
        alone = captured and choices == 1 and asked.isdisjoint(("logprobs", "token_ids"))
        self._tokens = TokenChunks(0) if alone else None

    def read_body(self, body: bytes) -> bytes:
        answer = None if self._captured else read_plain(body)
        if answer is None:
            return super().read_body(body)
        self._plain, self._skimmed = body, True
        if answer.usage is not None:
            self.usage = answer.usage
        for name, text in (("id", answer.id), ("model", answer.model)):
            if text is not None:
                self._head[name] = text
        for raw in answer.choices:
            choice = self._choices.setdefault(raw.index, ChatChoice())
            if raw.finish_reason is not None:
                choice.finish_reason = raw.finish_reason
        return body

    def read_event(self, event: SseEvent) -> Chunk:
        # Once the answer's head is known, chunks with tokens are kept and read together.
        tokens = self._tokens
        known = tokens is not None and 0 in self._choices and self._head.keys() >= HEAD
        chunk = tokens.take(event) if tokens is not None and known else None
        if chunk is None:
            return super().read_event(event)
        self._unread = True
        if tokens is not None and len(tokens) == _MOST:
            self._catch_up()
        return chunk

    def _catch_up(self) -> None:
        self._unread = False
        if self._tokens:
            self._take_tokens(self._tokens)

    def _take_tokens(self, tokens: TokenChunks) -> None:
        came, events = tokens.read(), tokens.forget()
        if came is None:
            for chunk in map(as_object, events):
                if chunk is not None:
                    self._take(chunk)
            return
        choice = self._choices[tokens.index]
        for delta in came.deltas:
            self._grow(choice, {"delta": delta})
        choice.logprobs += [entry.logprob for entry in came.entries]
        choice.top += [_top(entry.top_logprobs) if entry.top_logprobs else () for entry in came.entries]
        choice.token_ids += came.ids

    def _new_choice(self) -> ChatChoice:
        return ChatChoice()

    def read_events(self, events: bytes) -> Passage:
        if self._captured:
            return UNREAD
        start = 0 if self._choices else self._read_first(events)
        size = events.rfind(b"\n\n") + 2
        if size <= max(start, 1) or not self._choices:
            return Passage(start)
        ended = events.endswith(DONE_EVENT, start, size)
        chunks = events[start : size - len(DONE_EVENT) if ended else size]
        if not chunks:
            return Passage(size, ended=True)
        if self._texts is None:
            self._texts = TextDeltas()
        added = self._texts.read(chunks, self._head)
        if added is None or not self._add(added):
            return Passage(start)
        if not added.from_finish or not self.finished:
            return Passage(size, ended=ended)
        at = len(chunks)
        for _ in range(added.from_finish):
            at = chunks.rfind(b"\n\ndata: ", 0, at)
        return Passage(size, start + at + 2 if at >= 0 else start, ended)

    def _read_first(self, events: bytes) -> int:
        """Read the first chunk, which often has members that the others lack, and give its bytes; none where
        clients act on it, or it is spelled unusually.
        """
        end = events.find(b"\n\n")
        line = events[6:end] if end >= 0 and events.startswith(b"data: ") else b""
        chunk = None if b"\n" in line or b"\r" in line else as_object(line)
        if chunk is None:
            return 0
        for choice in as_mappings(chunk.get("choices")):
            delta = choice.get("delta")
            calls = isinstance(delta, dict) and delta.get("tool_calls")
            if calls or choice.get("finish_reason") is not None:
                return 0
        self._take(chunk)
        return end + 2

    def _add(self, added: Addition) -> bool:
        """Take in what chunks add; False where they bring new members, whose order counts."""
        if added.index is not None:
            choice = self._choices.get(added.index)
            if choice is None or not choice.message.keys() >= {name for name, _ in added.parts}:
                return False
            for name, text in added.parts:
                if name == "role" and text is not None:
                    choice.message[name] = text
                elif text is not None:
                    _grow_text(choice.message, name, text)
            if added.finish_reason is not None:
                choice.finish_reason = added.finish_reason
        self.usage = self.usage if added.usage is None else added.usage
        return True

    def _calls_tools(self, raw: Mapping[str, Any]) -> bool:
        return bool(as_mapping(raw.get("delta")).get("tool_calls"))

    def _grow(self, choice: ChatChoice, raw: Mapping[str, Any]) -> None:
        message = choice.message
        part = raw.get("delta") if "delta" in raw else raw.get("message")
        for name, value in part.items() if isinstance(part, dict) else ():
            if name == "tool_calls" and isinstance(value, list):
                _read_calls(choice, value)
            elif name == "role" or value is None:
                message[name] = message.get(name) if value is None else value
            else:
                _add(message, name, value)
        if raw.get("logprobs") is not None:
            _read_logprobs(choice, as_mapping(raw["logprobs"]).get("content"))

    def _message_members(self, choice: ChatChoice) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for name, value in choice.message.items():
            message[name] = "".join(value) if type(value) is _Pieces else _join_pieces(value)
        calls = [_join_pieces(call) for _, call in sorted(choice.calls.items())]
        return {"message": message | {"tool_calls": calls} if calls else message}

    def content(self) -> str | None:
        """The first choice's text."""
        if self._unread:
            self._catch_up()
        if self._skimmed and self._plain is not None:
            self._skimmed = False
            for raw in as_mappings((as_object(self._plain) or {}).get("choices")):
                self._grow(self._choices[raw.get("index", 0)], raw)
        choice = self._choices.get(0)
        content = choice.message.get("content") if choice else None
        return "".join(content) if isinstance(content, _Pieces) else None


def _add(to: dict[str, Any], name: str, value: Any) -> None:
    """Add to a member: texts and lists grow, also the texts of objects that come in pieces; other values are
    replaced.
    """
    known = to.get(name)
    if isinstance(value, str):
        _grow_text(to, name, value)
    elif isinstance(value, dict) and name in _IN_PIECES:
        members = to[name] = known if isinstance(known, dict) else {}
        for inner, one in value.items():
            if isinstance(one, str) and inner != "id":
                _grow_text(members, inner, one)
            else:
                members[inner] = one
    else:
        to[name] = [*known, *value] if isinstance(value, list) and isinstance(known, list) else value


def _grow_text(to: dict[str, Any], name: str, text: str) -> None:
    pieces = to.get(name)
    if isinstance(pieces, _Pieces):
        pieces.append(text)
    else:
        to[name] = _Pieces((text,))


def _join_pieces(value: Any) -> Any:
    """A value with the pieces of its texts joined."""
    if isinstance(value, _Pieces):
        return "".join(value)
    return {name: _join_pieces(one) for name, one in value.items()} if isinstance(value, dict) else value


def _read_logprobs(choice: ChatChoice, content: Any) -> None:
    for entry in as_mappings(content):
        if (told := as_logprob(entry.get("logprob"))) is not None:
            choice.logprobs.append(told)
            choice.top.append(_top(entry.get("top_logprobs")))


def _read_calls(choice: ChatChoice, deltas: list[Any]) -> None:
    for position, delta in enumerate(deltas):
        if not isinstance(delta, dict):
            continue
        index = delta.get("index", position)
        call = choice.calls.setdefault(index if isinstance(index, int) else position, {})
        for name, value in delta.items():
            if name in _IN_PIECES:
                _add(call, name, value)
            elif name != "index" and value:
                call[name] = value


def _top(entries: Any) -> tuple[tuple[int, float], ...]:
    if not isinstance(entries, list) or not entries:
        return ()
    return select_likeliest((as_mapping(one).get("token"), as_mapping(one).get("logprob")) for one in entries)
