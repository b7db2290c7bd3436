"""Explain what is wrong with a profile in one line: file, line, field, value and the fix."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ValidationError

from crosswind.injectors.profiles.located_yaml import LocatedYaml, Path
from crosswind.injectors.registry import nearest

_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = ("missing", "missing_argument")


class ProfileError(ValueError):
    """A profile can't be used; the message is one line: origin, line, field, value and the fix."""


class InvalidField(Exception):
    """What is wrong at a path of the document, before its line is known."""

    def __init__(self, path: Path, value: Any, fix: str) -> None:
        super().__init__(fix)
        self.path, self.value, self.fix = path, value, fix

    def locate(self, document: LocatedYaml, origin: str) -> ProfileError:
        """The error with the line at which the value stands."""
        value = "" if self.value is None else f" {self.value!r:.80}"
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        field = path.removeprefix(".") or "the document"
        return ProfileError(f"{origin}:{document.line(self.path)}: {field}:{value} {self.fix}")


def refuse_if(wrong: bool, path: Path, value: Any, fix: str) -> None:
    if wrong:
        raise InvalidField(path, value, fix)


def explain(error: ValidationError, model: type[BaseModel], data: Any) -> InvalidField:
    """The first of pydantic's complaints about the data, with the nearest known field for an unknown one."""
    found = error.errors(include_url=False)
    # A field that is misspelt is reported as missing, too: what stands there is the better hint.
    first = next((one for one in found if one["type"] in _UNKNOWN), found[0])
    path = _document_path(first["loc"], data)
    if first["type"] in _UNKNOWN:
        return InvalidField(
            path, None, f"unknown field; {nearest(str(path[-1]), _fields_at(model, path[:-1]))}"
        )
    if first["type"] in _MISSING:
        return InvalidField(path, None, "missing: add it")
    value = first["input"] if not isinstance(first["input"], BaseModel) else None
    return InvalidField(path, value, f"is wrong: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _document_path(location: Path, data: Any) -> Path:
    """Pydantic's location without the steps that aren't in the document (union members, `[key]` of a
    mapping)."""
    path: list[str | int] = []
    for step in location:
        inside = isinstance(data, dict) or (isinstance(data, list) and isinstance(step, int))
        if not inside or step == "[key]":
            break
        path.append(step)
        data = data.get(step) if isinstance(data, dict) else data[int(step)]
    return tuple(path)


def _fields_at(model: type[Any], path: Path) -> list[str]:
    """The names of the fields that the model has at a path of the document."""
    for step in path:
        if isinstance(step, int):
            continue
        annotation = _annotations(model).get(step)
        kinds = [kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)]
        inner = [kind for kind in kinds if issubclass(kind, BaseModel) or is_dataclass(kind)]
        if not inner:
            return []
        model = inner[0]
    return list(_annotations(model))


def _annotations(model: type[Any]) -> dict[str, Any]:
    if is_dataclass(model):
        hints = get_type_hints(model)
        return {field.name: hints[field.name] for field in fields(model)}
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}
