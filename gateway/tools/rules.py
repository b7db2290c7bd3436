"""Rules that say which HTTP requests are calls of a tool, and with which arguments.

    rules = HttpRules(parse_rules([{"tool": "get_order", "method": "GET", "path": "/orders/{order_id}"}]))
    found = rules.find("GET", "/orders/17?full=1")          # before the body is read; None: no tool's call
    call = found.read(content_type, body)                   # None: not a call after all

The first rule that fits a request counts. `openapi.py` makes rules of an API's own description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec
from msgspec import Meta

from crosswind.injectors.identity import digest

METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE"))
"""What a rule without a method means. HEAD and OPTIONS ask about a resource, and are no tool's call."""
BODY = "body"
"""The argument that holds a body which isn't a JSON object or a form."""
LARGEST_BODY = 1 << 20
"""Bytes of a request's body that is read for arguments. Of a larger one, the argument is a digest."""

Name = Annotated[str, Meta(min_length=1)]
Path = Annotated[str, Meta(pattern="^/")]
Pointer = Annotated[str, Meta(pattern="^(/.*)?$")]
"""A JSON pointer (RFC 6901); empty: the whole value."""
Kind = Literal["string", "integer", "number", "boolean", "array"]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode
_PARAMETER = re.compile(r"\{([^{}/*]+)(\*?)\}")
_ABSENT: Any = object()


class HttpRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Requests that are calls of a tool. Give either `tool` or `tool_at`."""

    path: Path
    """A template: `{name}` is one segment or a part of it, `{name*}` all the rest."""
    tool: str = ""
    """The tool's name."""
    tool_at: Pointer = ""
    """Where the JSON body has the tool's name, in an API with one address for all."""
    method: str | tuple[str, ...] = ()
    """One method, or several. None: GET, POST, PUT, PATCH and DELETE."""
    host: Name = "*"
    """A glob of the host, with `:port` where that isn't the scheme's own."""
    arguments_at: Pointer | None = None
    """Where the JSON body has the arguments; path and query then say nothing. None: the parameters of the
    path and the query and the members of the body together are the arguments."""
    ignore: tuple[Pointer, ...] = ()
    """Members of the arguments that differ between attempts at the same call, such as a request's id."""
    types: Mapping[str, Kind] = {}
    """What the path's and the query's parameters are; without it, a string. An array is one that may be
    repeated."""
    result_at: Pointer = ""
    """Where a JSON answer has the tool's result. Noise leaves the rest of the answer alone."""

    @property
    def methods(self) -> frozenset[str]:
        given = (self.method,) if isinstance(self.method, str) else self.method
        return frozenset(one.upper() for one in given) or METHODS


class HttpCall(msgspec.Struct, frozen=True):
    """A tool's call, as a request makes it."""

    tool: str
    arguments: str
    """Canonical JSON."""
    result_at: str = ""


class Found(msgspec.Struct, frozen=True):
    """A rule that fits a request by its method and address."""

    rule: HttpRule
    parameters: Mapping[str, Any]

    def read(self, content_type: str, body: bytes) -> HttpCall | None:
        """The call; None where the body names no tool."""
        rule = self.rule
        value = _body(content_type, body)
        tool = rule.tool or _look(value, rule.tool_at)
        if not isinstance(tool, str) or not tool:
            return None
        if rule.arguments_at is not None:
            arguments = _look(value, rule.arguments_at)
            arguments = {} if arguments is _ABSENT else arguments
        elif isinstance(value, dict):
            arguments = {**value, **self.parameters}
        else:
            arguments = {**({} if value is _ABSENT else {BODY: value}), **self.parameters}
        for pointer in rule.ignore:
            arguments = _without(arguments, pointer)
        return HttpCall(tool, _encode(arguments).decode(), rule.result_at)


class HttpRules:
    """The rules of an API, or of all APIs that a proxy serves."""

    def __init__(self, rules: Iterable[HttpRule] = (), *, infer: bool = False) -> None:
        """`infer`: a request that no rule fits is a call of a tool that is named after its address, unless it
        is one to a model."""
        self.infer = infer
        self._rules = [(rule.methods, _compile(rule.path), rule) for rule in rules]

    def __bool__(self) -> bool:
        return bool(self._rules) or self.infer

    @property
    def tools(self) -> frozenset[str]:
        """The tools that rules name."""
        return frozenset(rule.tool for _, _, rule in self._rules if rule.tool)

    def concern(self, host: str) -> bool:
        """Whether a request to this host may be a call; the port is with it where that isn't the scheme's."""
        hosts = {rule.host for _, _, rule in self._rules}
        return self.infer or any(fnmatchcase(host.lower(), one.lower()) for one in hosts)

    def find(self, method: str, url: str) -> Found | None:
        """The rule that fits, for a URL, or for a path with its query where all rules are for any host."""
        parts = urlsplit(url)
        method, path, host = method.upper(), parts.path or "/", _host(parts.scheme, parts.netloc)
        for methods, template, rule in self._rules:
            if method not in methods or (fits := template.fullmatch(path)) is None:
                continue
            if rule.host == "*" or fnmatchcase(host, rule.host.lower()):
                names = (name for name, _ in _PARAMETER.findall(rule.path))
                given = {name: unquote(value) for name, value in zip(names, fits.groups(), strict=True)}
                return Found(rule, _typed(given, parts.query, rule.types))
        if self.infer and method in METHODS and not _FOR_MODELS.search(path):
            rule = HttpRule(path=path, tool=name_tool(method, path))
            return Found(rule, {"path": unquote(path), **_typed({}, parts.query, {})})
        return None


def parse_rules(values: Any, where: str = "rules") -> tuple[HttpRule, ...]:
    """The rules that these plain values (of YAML or JSON) are. Raises ValueError, which names the field."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"{where}: give a list of rules, each with `tool` and `path`")
    return tuple(_parse(value, f"{where}[{at}]") for at, value in enumerate(values))


def _parse(value: Any, where: str) -> HttpRule:
    try:
        rule = msgspec.convert(value, HttpRule)
    except msgspec.ValidationError as error:
        said, _, field = str(error).partition(" - at `$")
        raise ValueError(f"{where}{field.rstrip('`')}: {said}") from None
    if bool(rule.tool) is bool(rule.tool_at):
        raise ValueError(f"{where}: give either `tool`, a name, or `tool_at`, a JSON pointer into the body")
    for method in rule.methods:
        if not method.isalpha():
            raise ValueError(f"{where}.method: {method!r} is no HTTP method")
    names = [name for name, _ in _PARAMETER.findall(rule.path)]
    if len(set(names)) < len(names):
        raise ValueError(f"{where}.path: {rule.path} has the same parameter twice")
    if "{" in _PARAMETER.sub("", rule.path):
        raise ValueError(f"{where}.path: {rule.path} has an open brace: write parameters as {{name}}")
    return rule


def name_tool(method: str, path: str) -> str:
    """A name for a tool whose API gives none: `get_orders_items` for GET /orders/17/items."""
    words = [_NOT_WORD.sub("_", unquote(one)).strip("_") for one in path.split("/") if not _ID.fullmatch(one)]
    words = [word for word in words if word and not word.startswith("{")]
    return "_".join([method.lower(), *words])[:64]


_ID = re.compile(r"|v\d+|[^/]*\d[^/]*|\{[^/]*\}")
"""Segments that name one thing rather than a kind of things, or a version."""
_NOT_WORD = re.compile(r"[^A-Za-z0-9_]+")
_FOR_MODELS = re.compile(
    r"/(completions|responses|messages|embeddings|converse(-stream)?|invoke|models)(/count_tokens)?$"
    r"|:(stream)?generateContent$",
    re.IGNORECASE,
)
"""Paths of models' APIs: their traffic is the model leg's."""


def _compile(path: str) -> re.Pattern[str]:
    out, at = "", 0
    for found in _PARAMETER.finditer(path):
        out += re.escape(_quoted(path[at : found.start()])) + ("(.*)" if found[2] else "([^/]+)")
        at = found.end()
    return re.compile(out + re.escape(_quoted(path[at:])), re.DOTALL)


def _quoted(literal: str) -> str:
    return quote(literal, safe="/%:@!$&'()*+,;=~")


def _host(scheme: str, netloc: str) -> str:
    host = netloc.rpartition("@")[2].lower()
    own = {"http": ":80", "https": ":443"}.get(scheme.lower())
    return host.removesuffix(own) if own else host


def _typed(path: Mapping[str, str], query: str, types: Mapping[str, Kind]) -> dict[str, Any]:
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        given.setdefault(name, []).append(value)
    out: dict[str, Any] = {}
    for name, values in given.items():
        several = len(values) > 1 or types.get(name) == "array"
        out[name] = values if several else _cast(values[0], types.get(name))
    return out | {name: _cast(value, types.get(name)) for name, value in path.items()}


def _cast(text: str, kind: Kind | None) -> Any:
    """The value; where it isn't of its kind, the text as it is."""
    if kind in (None, "string", "array"):
        return text
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return text
    wanted: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
    return value if type(value) in wanted[str(kind)] else text


def _body(content_type: str, body: bytes) -> Any:
    if not body:
        return _ABSENT
    if len(body) > LARGEST_BODY:
        return {BODY: digest(body.decode("latin-1"))}
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return _typed({}, body.decode("utf-8", "replace"), {})
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return digest(body.decode("latin-1"))


def _look(value: Any, pointer: str) -> Any:
    """What a JSON pointer names, or _ABSENT."""
    for step in split_pointer(pointer):
        if isinstance(value, dict):
            value = value.get(step, _ABSENT)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _ABSENT
    return value


def split_pointer(pointer: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _without(value: Any, pointer: str) -> Any:
    """The value without what the pointer names."""
    first, *rest = split_pointer(pointer) or [""]
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {name: one for name, one in value.items() if name != first}
    return value | {first: _without(value[first], "/" + pointer.split("/", 2)[2])}
