"""Multi-turn entries: worlds that the package's simulators keep, and what its checker says of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import count
from typing import Any

from .package import Document, backends, executor, multi_turn_checker
from .values import Call

Verdict = tuple[float, dict[str, float]]

_numbers = count()


def is_long(entry: Document) -> bool:
    """Whether the simulators fill up their worlds, so that results are long."""
    return "long_context" in str(entry["id"])


def build_instances(entry: Document) -> dict[str, Any]:
    """The entry's simulators at their start, by their class."""
    built = {}
    for name in entry["involved_classes"]:
        instance = getattr(importlib.import_module(backends().CLASS_FILE_PATH_MAPPING[name]), name)()
        if name not in backends().STATELESS_CLASSES:
            config = deepcopy(entry["initial_config"].get(name, {}))
            instance._load_scenario(config, long_context=is_long(entry))
        built[name] = instance
    return built


def find_method(instances: Mapping[str, Any], tool: str) -> Any:
    return next(getattr(one, tool) for one in instances.values() if hasattr(one, tool))


def read_call(source: str, instances: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A gold call's tool, and its arguments by name. It is written as Python, which is read, never run."""
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name), source
    positional = [ast.literal_eval(one) for one in call.args]
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    method = find_method(instances, call.func.id)
    return call.func.id, dict(inspect.signature(method).bind(*positional, **named).arguments)


def carry_out(instances: Mapping[str, Any], tool: str, arguments: Mapping[str, Any]) -> str:
    """A call's result as the package's executor writes it."""
    try:
        result = find_method(instances, tool)(**deepcopy(dict(arguments)))
    except Exception as error:
        return f"Error during execution: {error}"
    if not isinstance(result, dict):
        return str(result)
    try:
        return json.dumps(result)
    except TypeError:
        return str(result)


def execute_gold(entry: Document, truth: Sequence[Sequence[str]]) -> list[list[Call]]:
    """The gold calls of each turn with their results."""
    instances = build_instances(entry)

    def execute(source: str) -> Call:
        tool, arguments = read_call(source, instances)
        return Call(tool, arguments, carry_out(instances, tool, arguments))

    return [[execute(source) for source in turn] for turn in truth]


class World:
    """The simulators of one episode. Its calls are kept by turn, since the checker plays them again."""

    def __init__(self, entry: Document, truth: Sequence[Sequence[str]]) -> None:
        self._entry, self._truth = entry, truth
        self._made: list[list[list[str]]] = [[]]
        self._model = f"episode_{next(_numbers)}"

    def begin_turn(self) -> None:
        self._made.append([])

    @property
    def acted(self) -> bool:
        """Whether a call was made in this turn."""
        return bool(self._made[-1])

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        # The package evaluates it as Python: it has been checked that it names a tool and its parameters.
        source = f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        results, _ = executor().execute_multi_turn_func_call(
            [source],
            self._entry["initial_config"],
            self._entry["involved_classes"],
            self._model,
            self._entry["id"],
            long_context=is_long(self._entry),
        )
        self._made[-1].append([source])
        return str(results[0])

    def verify(self) -> Verdict:
        """The checker's verdict: it compares worlds after each turn, and results."""
        made = self._made + [[] for _ in range(len(self._truth) - len(self._made))]
        model = f"{self._model}_check_{next(_numbers)}"
        try:
            judged = multi_turn_checker()(made, self._truth, dict(self._entry), "", model)
        finally:
            _forget(model)
        why = judged.get("error_type", "").removeprefix("multi_turn:")
        return float(bool(judged["valid"])), {
            "state_ok": float(why not in ("instance_state_mismatch", "empty_turn_model_response")),
            "results_ok": float(why != "execution_response_mismatch"),
            "not_executed": float(why == "empty_turn_model_response"),
        }

    def close(self) -> None:
        _forget(self._model)


def _forget(model: str) -> None:
    """Drop the package's instances of an episode, which it keeps for good under names of its own."""
    kept = vars(executor())
    for name in [name for name in list(kept) if name.startswith(f"{model}_")]:
        kept.pop(name, None)
