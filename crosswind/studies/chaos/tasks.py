"""The tasks file: one JSON object a line, with an `id`, a `prompt` or other fields, and perhaps `expect`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from crosswind.gateway.control_characters import escape_control_characters

MOST_BYTES = 64 << 20
ID_LENGTH = 200
_NEAR = 0.8
"""How alike a misspelt name is, as `difflib` has it."""


class UnusableTasks(ValueError):
    """The file has no tasks that can be played; the message names the line and the fix."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task. What the agent is given of it leaves out `expect`."""

    id: str
    fields: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """What the agent reads on its standard input: the prompt, or the fields as JSON."""
        prompt = self.fields.get("prompt")
        return prompt if isinstance(prompt, str) else self.for_agent

    @property
    def for_agent(self) -> str:
        """Its fields as JSON, without what is expected."""
        return json.dumps({name: value for name, value in self.fields.items() if name != "expect"})

    @property
    def expected(self) -> tuple[str, ...]:
        """Texts that the agent's output must contain."""
        expect = self.fields.get("expect")
        if isinstance(expect, str):
            return (expect,)
        return tuple(expect) if isinstance(expect, list) else ()


def read_tasks(file: Path, *, checked: bool) -> list[Task]:
    """The tasks of a file. Raises UnusableTasks. `checked`: a checker decides, and reads `expect` as it
    likes; otherwise `expect` is a text, or a list of texts.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UnusableTasks(f"{file}: more than {MOST_BYTES >> 20} MiB; split the file")
        # Not splitlines(): JSON's texts may hold U+2028 and the like as they are.
        lines = file.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableTasks(
            f"{file}: can't be read ({error}); name a file with a JSON object a line"
        ) from None
    found: dict[str, Task] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            task = _read_task(f"{file}, line {number}", line, checked=checked)
            if task.id in found:
                raise UnusableTasks(f"{file}, line {number}: id {task.id!r} was given before; ids are unique")
            found[task.id] = task
    if not found:
        raise UnusableTasks(f'{file}: no task; write lines such as {{"id": "t1", "prompt": "…"}}')
    return list(found.values())


def _read_task(place: str, line: str, *, checked: bool) -> Task:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnusableTasks(f"{place}: no JSON ({error}); write one JSON object a line") from None
    if not isinstance(fields, dict):
        raise UnusableTasks(f"{place}: a JSON object is needed, found {type(fields).__name__}")
    name = fields.get("id")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not 0 < len(name) <= ID_LENGTH or escape_control_characters(name) != name:
        raise UnusableTasks(
            f"{place}: `id` is missing or unusable; give a text of 1 to {ID_LENGTH} characters"
        )
    if "\0" in line or "\\u0000" in line:
        raise UnusableTasks(f"{place}: holds NUL, which no command line or variable can; leave it out")
    if not _is_unicode(json.dumps(fields, ensure_ascii=False)):
        raise UnusableTasks(f"{place}: holds half of a surrogate pair; write the whole character")
    _refuse_misspelt(place, fields, checked=checked)
    expect = fields.get("expect")
    texts = expect if isinstance(expect, list) else [expect]
    if "expect" in fields and not checked and not (texts and all(isinstance(one, str) for one in texts)):
        raise UnusableTasks(
            f"{place}: `expect` is a text or a list of texts that the output must contain; "
            "for anything else give --checker or --verify"
        )
    return Task(name, fields)


def _refuse_misspelt(place: str, fields: Mapping[str, Any], *, checked: bool) -> None:
    """Other fields are an agent's own, and a checker's; one that is nearly ours would be of no effect."""
    given = {field.lower(): field for field in fields}
    for name in ("prompt",) if checked else ("prompt", "expect"):
        for near in get_close_matches(name, () if name in fields else given, n=1, cutoff=_NEAR):
            # A list of prompts is no prompt.
            if isinstance(fields[given[near]], str) or name == "expect":
                raise UnusableTasks(
                    f"{place}: no `{name}`, but a field {given[near]!r}: did you mean {name!r}? "
                    f"Else give it another name, or `{name}`, too"
                )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def digest(tasks: Sequence[Task]) -> str:
    """What tells one list of tasks from another."""
    text = json.dumps([task.fields for task in tasks], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
