"""The rules and the tools that an OpenAPI 3 document describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args
from urllib.parse import urlsplit

import yaml

from crosswind.gateway.tools.rules import BODY, HttpRule, Kind, name_tool, split_pointer
from crosswind.injectors.conversation import ToolList, ToolSchema

_METHODS = ("get", "post", "put", "patch", "delete")
_SHOWN = frozenset(("example", "examples", "xml", "externalDocs", "discriminator", "nullable"))
"""OpenAPI's own keywords, which JSON Schema doesn't have."""
_SCHEMAS = "#/components/schemas/"
DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Api:
    """What a document says of an API."""

    rules: tuple[HttpRule, ...]
    """The most specific paths first."""
    tools: ToolList
    outputs: Mapping[str, Any] = field(default_factory=dict)
    """By tool, the JSON schema of its answer."""


def load_document(text: str) -> Any:
    """The plain values of YAML or JSON, where a day is a text, as in JSON. Raises yaml.YAMLError."""
    return yaml.load(text, _Loader)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Without YAML's dates."""

    yaml_implicit_resolvers: ClassVar = {
        first: [one for one in resolvers if one[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read_openapi(document: Any, *, on_hosts: bool = False) -> Api:
    """The API that a document (plain values of YAML or JSON) describes. Raises ValueError.

    `on_hosts`: the rules are for the document's servers, as a forward proxy meets them. Otherwise they are
    for any host, and fit with and without the servers' base path.
    """
    if not isinstance(document, Mapping) or not str(document.get("openapi", "")).startswith("3."):
        raise ValueError(
            "this is no OpenAPI 3 document: its member `openapi` must be a version such as 3.1.0"
        )
    reading = _Reading(document)
    rules: list[HttpRule] = []
    tools: dict[str, ToolSchema] = {}
    outputs: dict[str, Any] = {}
    for path, method, shared, operation in reading.operations():
        tool = str(operation.get("operationId") or name_tool(method, path))
        while tool in tools:
            tool += "_"
        parameters = {
            one["name"]: one
            for one in (reading.resolve(one) for one in (*shared, *operation.get("parameters", ())))
            if isinstance(one, Mapping) and one.get("in") in ("path", "query") and "name" in one
        }
        types = {name: kind for name, one in parameters.items() if (kind := reading.kind(one)) is not None}
        for host, base in reading.servers(on_hosts):
            rules.append(HttpRule(path=base + path, tool=tool, method=method.upper(), host=host, types=types))
        described = str(operation.get("description") or operation.get("summary") or "")
        tools[tool] = ToolSchema(tool, described, reading.parameters(parameters, operation))
        if (output := reading.output(operation)) is not None:
            outputs[tool] = output
    if not rules:
        raise ValueError("this OpenAPI document has no operations under `paths`")
    return Api(tuple(sorted(rules, key=_specificity)), ToolList(tools.values()), outputs)


def _specificity(rule: HttpRule) -> tuple[bool, ...]:
    """Paths are matched concretely before templates, as the specification says."""
    return tuple("{" in segment for segment in rule.path.split("/"))


class _Reading:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def operations(self) -> Iterator[tuple[str, str, tuple[Any, ...], Mapping[str, Any]]]:
        paths = self._document.get("paths")
        for path, named in paths.items() if isinstance(paths, Mapping) else ():
            item = self.resolve(named)
            if not isinstance(item, Mapping) or not str(path).startswith("/"):
                continue
            for method in _METHODS:
                if isinstance(operation := item.get(method), Mapping):
                    yield str(path), method, tuple(item.get("parameters", ())), operation

    def servers(self, on_hosts: bool) -> Iterator[tuple[str, str]]:
        """The hosts and base paths under which the API is met."""
        servers = self._document.get("servers") or [{"url": "/"}]
        found = [urlsplit(str(one.get("url", "/"))) for one in servers if isinstance(one, Mapping)]
        places = [
            (one.netloc.lower() or "*", one.path.rstrip("/")) for one in found if "{" not in one.geturl()
        ]
        if on_hosts:
            yield from dict.fromkeys(places or [("*", "")])
        else:
            yield from dict.fromkeys(("*", base) for base in ("", *(base for _, base in places)))

    def resolve(self, value: Any) -> Any:
        """The value, or what its reference within the document names; None where there is no such thing."""
        for _ in range(DEEPEST):
            if not isinstance(value, Mapping) or not isinstance(ref := value.get("$ref"), str):
                return value
            if not ref.startswith("#/"):
                return None
            value = self._document
            for step in split_pointer(ref[1:]):
                value = value.get(step) if isinstance(value, Mapping) else None
        return None

    def kind(self, parameter: Mapping[str, Any]) -> Kind | None:
        schema = self.resolve(parameter.get("schema"))
        said = schema.get("type") if isinstance(schema, Mapping) else None
        if isinstance(said, list):
            said = next((one for one in said if one != "null"), None)
        return said if said in get_args(Kind) else None

    def parameters(
        self, given: Mapping[str, Mapping[str, Any]], operation: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The JSON schema of the tool's arguments."""
        properties = {name: self._described(one) for name, one in given.items()}
        required = [name for name, one in given.items() if one.get("required")]
        body = self.resolve(operation.get("requestBody"))
        schema = self.schema(_content(body))
        if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
            properties = schema["properties"] | properties
            required += [name for name in schema.get("required", ()) if name not in required]
        elif schema is not None:
            properties[BODY] = schema
            required += [BODY] if body.get("required") else []
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    def _described(self, parameter: Mapping[str, Any]) -> dict[str, Any]:
        schema = self.schema(parameter.get("schema"))
        described = {"description": parameter["description"]} if "description" in parameter else {}
        return {**(schema if isinstance(schema, dict) else {}), **described}

    def output(self, operation: Mapping[str, Any]) -> Any:
        """The JSON schema of a successful answer, with what it refers to; None: the document has none."""
        responses = operation.get("responses")
        for status, response in responses.items() if isinstance(responses, Mapping) else ():
            if str(status)[:1] == "2" and (said := _content(self.resolve(response))) is not None:
                definitions: dict[str, Any] = {}
                schema = self._standard(said, definitions, DEEPEST)
                return (
                    {**schema, "$defs": definitions} if definitions and isinstance(schema, dict) else schema
                )
        return None

    def schema(self, value: Any) -> Any:
        """A schema in which references are replaced by what they name, down to a depth; None: no schema."""
        return None if value is None else self._standard(self.resolve(value), None, 8)

    def _standard(self, value: Any, definitions: dict[str, Any] | None, depth: int) -> Any:
        """The schema in the terms of JSON Schema. `definitions` takes what it refers to; without it, the
        references are replaced."""
        if isinstance(value, list):
            return [self._standard(one, definitions, depth) for one in value]
        if not isinstance(value, Mapping):
            return value
        if depth == 0:
            return {}
        if isinstance(ref := value.get("$ref"), str):
            if definitions is None or not ref.startswith(_SCHEMAS):
                return self._standard(self.resolve(value), definitions, depth - 1)
            name = ref.removeprefix(_SCHEMAS)
            if name not in definitions:
                definitions[name] = {}
                definitions[name] = self._standard(self.resolve(value), definitions, depth - 1)
            return {"$ref": f"#/$defs/{name}"}
        out = {
            key: {name: self._standard(one, definitions, depth - 1) for name, one in inner.items()}
            if key == "properties" and isinstance(inner, Mapping)
            else inner
            if key in ("enum", "const", "default", "required")
            else self._standard(inner, definitions, depth - 1)
            for key, inner in value.items()
            if key not in _SHOWN
        }
        for edge, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(was := out.get(edge), bool):  # OpenAPI 3.0
                del out[edge]
                if was and limit in out:
                    out[edge] = out.pop(limit)
        return {"anyOf": [out, {"type": "null"}]} if value.get("nullable") is True else out


def _content(part: Any) -> Any:
    """The schema of a body's JSON, or of its form."""
    content = part.get("content") if isinstance(part, Mapping) else None
    for kind, media in content.items() if isinstance(content, Mapping) else ():
        name = str(kind).partition(";")[0].strip().lower()
        if (name.endswith(("/json", "+json", "/x-www-form-urlencoded"))) and isinstance(media, Mapping):
            return media.get("schema")
    return None
