"""BFCL's package: its files, its simulators and its checkers."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

WRITES_UNDERSCORES = "crosswind"
"""The name under which the checker knows our agents: tools of theirs have `_` where BFCL's have a dot."""

_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string", "hashmap": "object"}
"""BFCL's own names of JSON schema's types."""

Document = dict[str, Any]


def _module(name: str) -> Any:
    return importlib.import_module(f"bfcl_eval.{name}")


@cache
def executor() -> Any:
    """The module that carries out calls, and keeps the worlds."""
    return _module("eval_checker.multi_turn_eval.multi_turn_utils")


@cache
def multi_turn_checker() -> Any:
    return _module("eval_checker.multi_turn_eval.multi_turn_checker").multi_turn_checker


@cache
def backends() -> Any:
    """The names of the simulators' classes, modules and documents."""
    return _module("constants.executable_backend_config")


@cache
def more_functions() -> str:
    """What the user says when there are further functions."""
    return str(_module("constants.default_prompts").DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC)


@cache
def ast_checker() -> Any:
    """The checker of single calls. It asks the list of models one thing, whether a model's tools have `_` for
    a dot; that list imports every provider's SDK, so one of our own answers.
    """
    answer = ModuleType("bfcl_eval.constants.model_config")
    models = {WRITES_UNDERSCORES: SimpleNamespace(underscore_to_dot=True)}
    answer.MODEL_CONFIG_MAPPING = models  # type: ignore[attr-defined]
    sys.modules.setdefault(answer.__name__, answer)
    return _module("eval_checker.ast_eval.ast_checker").ast_checker


def data() -> Path:
    """The folder with the package's data."""
    found = importlib.util.find_spec("bfcl_eval")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "data"


def read_lines(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def pairs(category: str) -> Iterator[tuple[Document, Any]]:
    """A category's entries with their ground truths; None: nothing is to be called."""
    path = data() / f"BFCL_v4_{category}.json"
    answers = data() / "possible_answer" / path.name
    truths = {one["id"]: one["ground_truth"] for one in read_lines(answers)} if answers.exists() else {}
    for entry in read_lines(path):
        yield entry, truths.get(entry["id"])


@cache
def simulator_tools(class_name: str) -> list[Document]:
    """The tools of a simulator."""
    file = backends().MULTI_TURN_FUNC_DOC_FILE_MAPPING[class_name]
    return [write_tool(one) for one in read_lines(data() / "multi_turn_func_doc" / file)]


def write_tool(document: Document) -> Document:
    """A tool as the OpenAI chat API has it in `function`."""
    parts = {key: _schema(document[key]) for key in ("name", "description", "parameters")}
    return {**parts, "name": document["name"].replace(".", "_")}


def _schema(part: Any) -> Any:
    if isinstance(part, list):
        return [_schema(one) for one in part]
    if not isinstance(part, dict):
        return part
    named = {key: _schema(value) for key, value in part.items()}
    kind = named.get("type")
    return {**named, "type": _TYPES.get(kind, kind)} if isinstance(kind, str) else named
