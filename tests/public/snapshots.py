"""What is public, as text that a reviewer reads in a diff: `python -m tests.public.snapshots` writes it.

The wording of descriptions is left out: it may change freely.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

import crosswind
from crosswind.gateway.app import create_app
from crosswind.gateway.config.loading import load
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.control.application import create_control
from crosswind.gateway.runtime import Gateway
from crosswind.gateway.telemetry.metrics import render_all_processes
from tests import ROOT

FOLDER = Path(__file__).parent
OPERATIONS = ROOT / "docs" / "operations.md"
_TABLE_BEGINS = "<!-- metrics: python -m tests.public.snapshots -->"
_TABLE_ENDS = "<!-- end of metrics -->"
_PROSE = ("description", "title", "summary")


def interface() -> str:
    """The names of `crosswind`, with the signatures and members behind them."""
    return "\n".join(line for name in crosswind.__all__ for line in _shown(name, getattr(crosswind, name)))


def _shown(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"def {name}{_signature(value)}" if inspect.isfunction(value) else f"{name} = {value}"
        return
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    yield f"class {name}" + (f"({', '.join(bases)})" if bases else "")
    ours = [kind for kind in reversed(value.__mro__) if kind.__module__.startswith("crosswind.")]
    members = {member: None for kind in ours for member in (*kind.__annotations__, *vars(kind))}
    # A dataclass's fields are the parameters of its `__init__`.
    fields = getattr(value, "__dataclass_fields__", ())
    for member in members:
        public = not member.startswith("_") or member in ("__init__", "__enter__", "__aenter__")
        if public and member not in fields:
            yield from (f"    {line}" for line in _member(ours, member))


def _member(kinds: list[type], name: str) -> Iterator[str]:
    found = next((vars(kind)[name] for kind in reversed(kinds) if name in vars(kind)), None)
    annotation = next((kind.__annotations__[name] for kind in kinds if name in kind.__annotations__), None)
    if isinstance(found, classmethod | staticmethod):
        yield f"@{type(found).__name__}"
        found = found.__func__
    if inspect.isfunction(found) and found.__name__ == name:
        kind = "async def" if inspect.iscoroutinefunction(found) else "def"
        yield f"{kind} {name}{_signature(found)}"
    elif isinstance(found, enum.Enum):
        yield f"{name} = {found.value!r}"
    elif annotation is not None:
        yield f"{name}: {annotation}"
    elif isinstance(found, property):
        assert found.fget is not None
        yield f"{name}: {inspect.signature(found.fget).return_annotation}  # property"


def _signature(function: Callable[..., Any]) -> str:
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


def openapi() -> str:
    """The control plane's routes, parameters and bodies."""

    async def fetch(gateway: Gateway) -> Any:
        transport = httpx.ASGITransport(create_control(gateway))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return (await http.get("/openapi.json")).json()

    return json.dumps(_without_prose(_with_gateway(fetch)), indent=1, sort_keys=True)


def _without_prose(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_prose(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_prose(one)
        for name, one in value.items()
        if not (name in _PROSE and isinstance(one, str))
    }


def metrics() -> str:
    """The metrics' names, types and labels."""

    async def collect(gateway: Gateway) -> list[str]:
        registry = gateway.metrics.registry
        # prometheus_client tells the labels of a metric without samples nowhere else.
        found = [one for one in registry._collector_to_names if isinstance(one, MetricWrapperBase)]
        return [f"{one._type} {one._name}({', '.join(one._labelnames)})" for one in found]

    with TemporaryDirectory() as folder:
        of_workers = render_all_processes(Path(folder), workers_ready=1, worker_restarts=0).decode()
    families = text_string_to_metric_families(of_workers)
    return "\n".join(sorted([*_with_gateway(collect), *(f"{one.type} {one.name}()" for one in families)]))


def metrics_table() -> str:
    """The metrics as the operations page lists them."""

    async def collect(gateway: Gateway) -> list[tuple[str, ...]]:
        registry = gateway.metrics.registry
        found = [one for one in registry._collector_to_names if isinstance(one, MetricWrapperBase)]
        return [(one._type, one._name, ", ".join(one._labelnames), one._documentation) for one in found]

    with TemporaryDirectory() as folder:
        of_workers = render_all_processes(Path(folder), workers_ready=1, worker_restarts=0).decode()
    families = text_string_to_metric_families(of_workers)
    rows = [*_with_gateway(collect), *((one.type, one.name, "", one.documentation) for one in families)]
    lines = ["| metric | type | labels | what it counts |", "|---|---|---|---|"]
    for kind, name, labels, about in sorted(rows, key=lambda row: row[1]):
        exposed = f"{name}_total" if kind == "counter" else name
        lines.append(f"| `{exposed}` | {kind} | {labels} | {about} |")
    return "\n".join(lines)


def configuration() -> str:
    """The configuration's keys, with their types and defaults."""
    schema = Settings.model_json_schema()
    return "\n".join(_keys(schema, schema["$defs"], ""))


def _keys(schema: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, one in schema["properties"].items():
        options, models = [], []
        for option in one.get("anyOf") or one.get("allOf") or [one]:
            listed = "[]" if "$ref" in option.get("items", {}) else ""
            reference = option.get("$ref") or option.get("items", {}).get("$ref", "")
            definition = definitions.get(reference.rpartition("/")[2], {})
            if "properties" in definition:
                models.append((definition, f"{prefix}{name}{listed}."))
            options.append(
                "array" if listed else str(definition.get("enum") or {**definition, **option}["type"])
            )
        if not models or not isinstance(one.get("default"), dict):
            default = "required" if "default" not in one else json.dumps(one["default"])
            yield f"{prefix}{name}: {' | '.join(options)} = {default}"
        for model, key in models:
            yield from _keys(model, definitions, key)


def _with_gateway(use: Callable[[Gateway], Awaitable[Any]]) -> Any:
    """What `use` gives of a gateway that is built and never started."""

    async def run(folder: str) -> Any:
        given = {"upstream": "http://127.0.0.1:9/v1", "store": f"sqlite:///{folder}/store.db"}
        gateway = create_app(load(None, given))
        try:
            return await use(gateway)
        finally:
            await gateway.close()

    with TemporaryDirectory() as folder:
        return asyncio.run(run(folder))


SNAPSHOTS: Mapping[str, Callable[[], str]] = {
    "interface.txt": interface,
    "openapi.json": openapi,
    "metrics.txt": metrics,
    "configuration.txt": configuration,
}


def with_metrics_table(page: str) -> str:
    """The operations page with the table of metrics made from the code."""
    before, _, rest = page.partition(_TABLE_BEGINS)
    _, _, after = rest.partition(_TABLE_ENDS)
    return f"{before}{_TABLE_BEGINS}\n{metrics_table()}\n{_TABLE_ENDS}{after}"


def main() -> None:
    for name, taken in SNAPSHOTS.items():
        (FOLDER / name).write_text(taken() + "\n")
    OPERATIONS.write_text(with_metrics_table(OPERATIONS.read_text()))


if __name__ == "__main__":
    main()
