"""YAML with the line of every value, so that an error can name file and line."""

from __future__ import annotations

from math import isfinite
from typing import Any

import yaml

Path = tuple[str | int, ...]


class YamlSyntaxError(ValueError):
    """The text isn't YAML; `line` is where the parser gave up, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


MOST_VALUES = 20_000
"""Of a document, once its aliases are written out: nine levels of nine aliases are 387 million."""
_TOO_MANY = f"more than {MOST_VALUES} values with its aliases written out"


class _Loader(yaml.SafeLoader):
    """Refuses a document with too many values as soon as it has composed so many."""

    _composed = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._composed += 1
        if self._composed > MOST_VALUES:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise YamlSyntaxError(_TOO_MANY, line)
        return super().compose_node(parent, index)


class LocatedYaml:
    """A YAML document as plain data (`data`), with the line of every path in it."""

    def __init__(self, text: str) -> None:
        try:
            loader = _Loader(text)
        except yaml.reader.ReaderError as error:
            raise YamlSyntaxError(
                str(error).splitlines()[0], text.count("\n", 0, error.position) + 1
            ) from error
        try:
            node = loader.get_single_node()
            _refuse_doubled(node)
            _refuse_multiplied(node)
            self.data: Any = None if node is None else loader.construct_document(node)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise YamlSyntaxError(problem, mark.line + 1 if mark else 1) from error
        except RecursionError as error:
            raise YamlSyntaxError("nested too deeply", 1) from error
        finally:
            loader.dispose()
        self._root = node

    def line(self, path: Path) -> int:
        """The line (from 1) of the value at the path, or of its nearest enclosing value that is there."""
        node = self._root
        line = 1
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line


def _refuse_doubled(root: yaml.Node | None) -> None:
    """YAML allows no key twice in one mapping; the parser would take the last without a word."""
    pending, seen = [root], set[int]()
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending.extend(node.value)
        if isinstance(node, yaml.MappingNode):
            lines: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                name, line = (key.tag, str(key.value)), key.start_mark.line + 1
                if isinstance(key, yaml.ScalarNode) and name in lines:
                    first = lines[name]
                    raise YamlSyntaxError(f"the key {key.value!r:.60} stands in line {first}, too", line)
                lines[name] = line
                pending.append(value)


def _refuse_multiplied(root: yaml.Node | None) -> None:
    """Refuse aliases that stand for too many values, before merge keys write them out."""
    sizes: dict[int, int] = {}

    def measure(node: yaml.Node) -> int:
        """The values in a node. One that holds itself counts as empty there: it is refused later."""
        if id(node) not in sizes:
            sizes[id(node)] = 0
            members = (
                [part for pair in node.value for part in pair]
                if isinstance(node, yaml.MappingNode)
                else node.value
                if isinstance(node, yaml.SequenceNode)
                else []
            )
            sizes[id(node)] = 1 + sum(measure(member) for member in members)
        return sizes[id(node)]

    if root is not None and measure(root) > MOST_VALUES:
        raise YamlSyntaxError(_TOO_MANY, root.start_mark.line + 1)


def _child(node: yaml.Node | None, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark.line + 1, item
    return None


def find_cycle(value: Any) -> Path | None:
    """The path of a value that contains itself, by way of an anchor; None where there is none."""
    return _find_cycle(value, (), (), set())


def _find_cycle(value: Any, path: Path, above: tuple[int, ...], seen: set[int]) -> Path | None:
    """`seen`: the values that hold no cycle, which need no second look where an alias names them again."""
    if not isinstance(value, dict | list) or id(value) in seen:
        return None
    if id(value) in above:
        return path
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        if (found := _find_cycle(member, (*path, key), (*above, id(value)), seen)) is not None:
            return found
    seen.add(id(value))
    return None


def find_foreign(value: Any, path: Path = ()) -> tuple[Path, Any] | None:
    """The first part that JSON has no form for, with its path; YAML reads an unquoted day as a date.

    The value has no cycle.
    """
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict) and not isinstance(key, str):
                return path, key
            if (found := find_foreign(member, (*path, key))) is not None:
                return found
        return None
    held = isfinite(value) if isinstance(value, float) else isinstance(value, str | int | None)
    return None if held else (path, value)
