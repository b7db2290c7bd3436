"""YAML with the line of every value, so that an error can name file and line."""

from __future__ import annotations

from typing import Any

import yaml

Path = tuple[str | int, ...]


class YamlSyntaxError(ValueError):
    """The text isn't YAML; `line` is where the parser gave up, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class LocatedYaml:
    """A YAML document as plain data (`data`), with the line of every path in it."""

    def __init__(self, text: str) -> None:
        try:
            loader = yaml.SafeLoader(text)
        except yaml.reader.ReaderError as error:
            raise YamlSyntaxError(
                str(error).splitlines()[0], text.count("\n", 0, error.position) + 1
            ) from error
        try:
            node = loader.get_single_node()
            _refuse_doubled(node)
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


def _child(node: yaml.Node | None, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark.line + 1, item
    return None


def find_cycle(value: Any, path: Path = (), above: tuple[int, ...] = ()) -> Path | None:
    """The path of a value that contains itself, by way of an anchor; None where there is none."""
    if not isinstance(value, dict | list):
        return None
    if id(value) in above:
        return path
    members = value.items() if isinstance(value, dict) else enumerate(value)
    inside = (find_cycle(one, (*path, key), (*above, id(value))) for key, one in members)
    return next((found for found in inside if found is not None), None)
