"""Conversations to token ids and back: the directory's own chat template and tokenizer, as transformers would
apply them.

The prompt of a turn must extend the last turn's prompt and completion token for token. The template renders
an
assistant's turn as it was sampled; where the sampled tokens aren't those that the tokenizer would choose for
the same
text, or a tool call was spaced otherwise, the format remembers what was sampled and puts it back.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from tokenizers import Tokenizer

from crosswind.policies.tiny.template import ChatTemplate, Message
from crosswind.policies.versions.version import VersionError

NAMED_TOKENS = ("bos_token", "eos_token", "pad_token")

_REMEMBERED = 100_000
"""Assistant turns and text segments that are remembered, the oldest forgotten first."""


class ChatFormat:
    """The chat template and tokenizer of a policy directory."""

    def __init__(self, directory: Path) -> None:
        try:
            self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
            settings = orjson.loads((directory / "tokenizer_config.json").read_bytes())
            self._variables = {name: settings.get(name) or "" for name in NAMED_TOKENS}
            self.template = ChatTemplate((directory / "chat_template.jinja").read_text(), self._variables)
        except Exception as error:  # tokenizers raises bare Exception
            raise VersionError(f"{directory}: tokenizer or template can't be read: {error}") from None
        self.end_text: str = self._variables["eos_token"]
        self.end = self._token_id(directory, self.end_text)
        self.opening = self.template.opening
        added = sorted(
            (token.content for token in self.tokenizer.get_added_tokens_decoder().values()), key=len
        )
        self._markers = re.compile("(" + "|".join(map(re.escape, reversed(added))) + ")")
        self._segments: OrderedDict[str, list[int]] = OrderedDict()
        self._turns: OrderedDict[bytes, dict[str, list[int]]] = OrderedDict()
        """By the digest of the prompt: the turns sampled after it, as the template renders them, and their
        tokens.
        """

    def _token_id(self, directory: Path, text: str) -> int:
        token = self.tokenizer.token_to_id(text)
        if token is None:
            raise VersionError(
                f"{directory}: tokenizer_config.json's eos_token {text!r} isn't in tokenizer.json"
            )
        return int(token)

    def prompt_ids(self, messages: Sequence[Message], tools: Sequence[Any] | None) -> list[int]:
        """The prompt's token ids: what was sampled where we sampled it, the tokenizer's choice elsewhere."""
        head, *turns = self.template.render(messages, tools).split(self.opening)
        ids = self.encode(head)
        while turns:
            ids += self.encode(self.opening)
            sampled, rest = self._recall(ids, turns)
            ids += sampled + self.encode(rest)
        return ids

    def _recall(self, ids: list[int], turns: list[str]) -> tuple[list[int], str]:
        """Take the text after an opening off the list: its remembered tokens, and what is left to encode."""
        known = self._turns.get(_digest(ids))
        if known:
            following = self.opening.join(turns)  # a sampled turn may itself hold the opening
            for text, sampled in known.items():
                if following.startswith(text + self.end_text):
                    rest, *turns[:] = following[len(text) :].split(self.opening)
                    return sampled, rest
        return [], turns.pop(0)

    def remember(self, prompt: Sequence[int], sampled: Sequence[int], message: Message) -> None:
        """Remember a sampled turn, if the client's history would not bring its very tokens back by itself."""
        body = list(sampled[:-1]) if sampled[-1] == self.end else list(sampled)
        text = self.template.render([message], None, open_turn=False)[len(self.opening) : -len(self.end_text)]
        if self.encode(text) != body:
            known = self._turns.get(_digest(prompt)) or {}
            _put(self._turns, _digest(prompt), known | {text: body})

    def encode(self, text: str) -> list[int]:
        """Token ids of a text in which markers may stand. Segments between markers are remembered."""
        ids: list[int] = []
        for segment in self._markers.split(text):
            if segment:
                known = self._segments.get(segment)
                if known is None:
                    known = self.tokenizer.encode(segment, add_special_tokens=False).ids
                    _put(self._segments, segment, known)
                ids += known
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of sampled tokens, tool-call markers included and the end of turn left out."""
        body = tokens[:-1] if tokens and tokens[-1] == self.end else tokens
        return str(self.tokenizer.decode(body, skip_special_tokens=False))


def _digest(ids: Sequence[int]) -> bytes:
    return hashlib.blake2b(array("i", ids).tobytes(), digest_size=16).digest()


def _put(memory: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
