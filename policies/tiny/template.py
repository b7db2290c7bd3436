"""The chat template of a policy directory, compiled and rendered as transformers does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

Message = Mapping[str, Any]


class TemplateError(Exception):
    """A template or its messages can't be rendered; the message says what the template complained of."""


class ChatTemplate:
    """A conversation's text, exactly as transformers' `apply_chat_template` gives it."""

    def __init__(self, source: str, variables: Mapping[str, str]) -> None:
        """`variables` are the tokenizer's named tokens (`eos_token`, say), which templates may use."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise TemplateError(str(error)) from None
        self._variables = variables
        self.opening = self._find_opening()
        """What stands where the assistant is to speak."""

    def render(
        self, messages: Sequence[Message], tools: Sequence[Any] | None, *, open_turn: bool = True
    ) -> str:
        """The text of the messages; with `open_turn` it ends where the assistant is to speak."""
        try:
            return self._template.render(
                messages=messages, tools=tools or None, add_generation_prompt=open_turn, **self._variables
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise TemplateError(str(error)) from None

    def _find_opening(self) -> str:
        probe = [{"role": "user", "content": "x"}]
        without, opened = self.render(probe, None, open_turn=False), self.render(probe, None)
        if not opened.startswith(without) or opened == without:
            raise TemplateError("the template ignores add_generation_prompt; correct the template")
        return opened[len(without) :]


def _to_json(value: Any, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **options)
