"""Where paths, requests and descriptions name what a provider keeps: responses, conversations, files, ..."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from crosswind.gateway.protocols.json_values import as_mapping, decode_or_none

_COLLECTIONS = (
    "assistants",
    "batches",
    "chat/completions",
    "containers",
    "conversations",
    "evals",
    "files",
    "fine_tuning/jobs",
    "messages/batches",
    "responses",
    "skills",
    "threads",
    "uploads",
    "vector_stores",
    "videos",
)
_ROUTE = re.compile(
    rf"/(?P<collection>{'|'.join(_COLLECTIONS)})(?:/(?P<id>[^/]+)(?P<rest>/.*)?)?/?\Z",
    re.DOTALL | re.IGNORECASE,
)
_MATRIX = re.compile(r";[^/]*")
_SLASHES = re.compile(r"[/\\]+")
_ACTIONS = {"responses": ("input_tokens", "compact"), "threads": ("runs",)}
"""What may stand in an id's place in a path, and is none."""
_DESCRIPTIONS = ("", "/cancel", "/complete")
"""What follows an id in a path, where the answer describes the object itself."""

_REFERENCES = frozenset(
    (
        *("assistant_id", "batch_id", "container", "container_id", "conversation", "conversation_id"),
        *("file_id", "file_ids", "input_file_id", "previous_response_id", "response_id", "skill_id"),
        *("training_file", "validation_file", "vector_store_id", "vector_store_ids"),
    )
)
"""Members of a request's body that name objects: a text, a list of texts, or an object with an `id`."""
_MAY_REFER = re.compile(
    rb'(?:assistant|batch|container|conversation|file|response|skill|store)_ids?"|conversation"|container"'
    rb'|_file"|item_reference|\\u00'
)
"""A body without any of these refers to nothing, and isn't parsed."""
_NO_OBJECTS = ("auto", "none")
"""What Realtime takes in a conversation's place."""
_CLIENTS_OWN = frozenset(("arguments", "input_schema", "metadata", "parameters"))
"""Members in which the client's own data may look like references."""
_BUILT_IN = "anthropic"
"""The type of skills that the provider itself has."""


class ObjectRoute(NamedTuple):
    """A path under an API's root that leads to a collection, or to one of its objects."""

    collection: str
    object_id: str | None
    rest: str

    def describes(self, method: str) -> bool:
        """Whether a successful answer describes an object, and so names what belongs to it."""
        if self.object_id is None:
            return method == "POST"
        return method in ("GET", "POST") and self.rest in _DESCRIPTIONS

    def lists(self, method: str) -> bool:
        """Whether the answer lists the collection's objects, those of other tenants included."""
        return method == "GET" and self.object_id is None


def find_object_route(path: str) -> ObjectRoute | None:
    """The collection and object that a path (behind the API's root) leads to; None for other routes.

    Read as the most lenient provider reads it: percent-encoded, with repeated slashes, in any case, and with
    parameters (`;a=b`).
    """
    found = _ROUTE.match(_MATRIX.sub("", _SLASHES.sub("/", unquote(path))))
    if found is None:
        return None
    collection, name = found["collection"].lower(), found["id"]
    if name is None or name in _ACTIONS.get(collection, ()):
        return ObjectRoute(collection, None, "" if name is None else f"/{name}")
    return ObjectRoute(collection, name, (found["rest"] or "").rstrip("/"))


def find_references(body: bytes | str) -> set[str]:
    """The ids of kept objects that a request's body names.

    A member that is given twice counts twice: which of the two the provider reads isn't known. Raises
    ValueError where the body isn't JSON, but seems to name objects.
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _to_utf8(body)
    if not _MAY_REFER.search(raw):
        return set()
    try:
        return set(_walk(json.loads(raw, object_pairs_hook=_Members), top=True))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def find_item_id(event: bytes) -> str | None:
    """The id of an item that a Realtime conversation has now: one of the connection, given by either side."""
    told = as_mapping(decode_or_none(event))
    kind, name = told.get("type"), as_mapping(told.get("item")).get("id")
    known = isinstance(kind, str) and kind.startswith("conversation.item.")
    return name if known and isinstance(name, str) else None


def find_described_ids(body: bytes) -> set[str]:
    """The ids of an object that an answer describes: its own, and those of its files."""
    described = decode_or_none(body)
    if not isinstance(described, dict):
        return set()
    own = described.get("file")
    candidates = [described.get("id"), own.get("id") if isinstance(own, dict) else None]
    candidates += [value for name, value in described.items() if name.endswith("_file_id")]
    return {one for one in candidates if isinstance(one, str)}


class _Members(list[tuple[str, Any]]):
    """A JSON object's members in order, those given twice included."""


def _to_utf8(body: bytes) -> bytes:
    """A body in UTF-16 or UTF-32, which Python's servers read as JSON too, in UTF-8."""
    encoding = json.detect_encoding(body)
    if encoding.startswith("utf-8"):
        return body
    try:
        return body.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return b""


def _walk(value: Any, *, top: bool = False) -> Iterator[str]:
    if isinstance(value, _Members):
        kinds = [kind for name, kind in value if name == "type"]
        if "item_reference" in kinds or "file_id" in kinds:
            yield from (one for name, one in value if name == "id" and isinstance(one, str))
        # At the top `input` is what the model is asked, whatever a `type` beside it says.
        called = not top and any(isinstance(kind, str) and kind.endswith("tool_use") for kind in kinds)
        for name, member in value:
            if name in _REFERENCES and not (name == "skill_id" and kinds == [_BUILT_IN]):
                yield from _list_ids(member)
            if name not in _CLIENTS_OWN and not (called and name == "input"):
                yield from _walk(member)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one)


def _list_ids(value: Any) -> Iterator[str]:
    if isinstance(value, _Members):
        yield from (one for name, one in value if name == "id" and isinstance(one, str))
    elif isinstance(value, list):
        for one in value:
            yield from _list_ids(one)
    elif isinstance(value, str) and value not in _NO_OBJECTS:
        yield value
