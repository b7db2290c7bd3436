"""What is wrong with a profile, said so that it can be mended: file, line, field, value, nearest known
name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ValidationError

from crosswind.injectors.profiles.located_yaml import MarkedYaml, Path
from crosswind.injectors.registry import nearest

_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


class ProfileError(ValueError):
    """A profile can't be used; the message is one line: origin, line, field, value and the mend."""


class Trouble(Exception):
    """A fault at a path of the document, before its line is known."""

    def __init__(self, path: Path, value: Any, mend: str) -> None:
        super().__init__(mend)
        self.path, self.value, self.mend = path, value, mend

    def located(self, document: MarkedYaml, origin: str) -> ProfileError:
        """The error with the line at which the value stands."""
        value = "" if self.value is None else f" {self.value!r:.80}"
        return ProfileError(f"{origin}:{document.line(self.path)}: {_dotted(self.path)}:{value} {self.mend}")


def of_validation(
    error: ValidationError, model: type[BaseModel], document: MarkedYaml, origin: str
) -> ProfileError:
    """The first of pydantic's complaints as a ProfileError, with the nearest known field for an unknown
    one."""
    found = error.errors(include_url=False)
    # A field that is misspelt is reported as missing, too: what stands there is the better hint.
    first = next((one for one in found if one["type"] in _UNKNOWN), found[0])
    path = _document_path(first["loc"], document.data)
    if first["type"] in _UNKNOWN:
        known = _fields_at(model, path[:-1])
        return Trouble(path, None, f"unknown field; {nearest(str(path[-1]), known)}").located(
            document, origin
        )
    if first["type"] in ("missing", "missing_argument"):
        return Trouble(path, None, "missing: add it").located(document, origin)
    value = first["input"] if not isinstance(first["input"], BaseModel) else None
    return Trouble(path, value, f"is wrong: {first['msg'][:1].lower()}{first['msg'][1:]}").located(
        document, origin
    )


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the document"


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
        candidates = [annotation, *get_args(annotation)]
        inner = [kind for kind in candidates if isinstance(kind, type) and (_is_model(kind))]
        if not inner:
            return []
        model = inner[0]
    return list(_annotations(model))


def _annotations(model: type[Any]) -> dict[str, Any]:
    """The type of each field, under the name that it has in a document."""
    if is_dataclass(model):
        hints = get_type_hints(model)
        return {field.name: hints[field.name] for field in fields(model)}
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _is_model(kind: type[Any]) -> bool:
    return issubclass(kind, BaseModel) or is_dataclass(kind)
