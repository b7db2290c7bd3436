"""BFCL's shipped data (Apache-2.0), out of its package: it is downloaded once into a cache that git ignores.

The package is never installed. Its simulators, which execute the gold calls, run from the unpacked wheel in a
process of their own.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.noise_quality.samples import Call, Exchange, Sample, Value, make_sample, spellings

VERSION = "2026.3.23"
CACHE = Path("runs/noise-quality")
SINGLE_TURN = ("live_simple", "live_multiple", "multiple", "simple_python")
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string", "hashmap": "object"}
"""BFCL's own names of JSON schema's types."""


def fetch(cache: Path = CACHE) -> Path:
    """The folder of the unpacked package."""
    folder = cache / f"bfcl_eval-{VERSION}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        wanted = ("--no-deps", "--dest", str(cache), f"bfcl_eval=={VERSION}")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted], check=True)
        wheel = next(cache.glob(f"bfcl_eval-{VERSION}-*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder.with_suffix(".part"))
        folder.with_suffix(".part").rename(folder)
    return folder


def read_samples(multi_turn: int, single_turn: int, cache: Path = CACHE) -> Iterator[Sample]:
    """So many conversations and single messages, spread evenly over the package's own order."""
    package = fetch(cache)
    data = package / "bfcl_eval" / "data"
    yield from _read_multi_turn(package, cache, data, multi_turn)
    singles = [(name, *pair) for name in SINGLE_TURN for pair in pairs(data, name)]
    for category, entry, answers in spread(singles, single_turn):
        said = entry["question"][0][-1]["content"]
        gold = tuple(_read_accepted(answers["ground_truth"]))
        tools = [_tool(one) for one in entry["function"]]
        yield make_sample(entry["id"], f"bfcl/{category}", "en", [Exchange(said, (), gold)], tools)


def _read_multi_turn(package: Path, cache: Path, data: Path, count: int) -> Iterator[Sample]:
    results = execute(package, cache)
    documents = read_tools(data)
    for entry, _ in spread(list(pairs(data, "multi_turn_base")), count):
        executed = results[entry["id"]]
        exchanges = []
        for said, calls in zip(entry["question"], executed["turns"], strict=True):
            made = [Call(*one) for one in calls]
            gold = tuple(value for call in made for value in spellings(call.arguments))
            exchanges.append(Exchange(said[-1]["content"], made, gold))
        tools = [tool for name in executed["documents"] for tool in documents[name]]
        yield make_sample(entry["id"], "bfcl/multi_turn_base", "en", exchanges, tools)


def read_tools(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The tools of the multi-turn simulators, by the name of their document."""
    return {
        path.stem: [_tool(json.loads(line)) for line in path.read_text().splitlines()]
        for path in sorted((data / "multi_turn_func_doc").glob("*.json"))
    }


def execute(package: Path, cache: Path = CACHE) -> dict[str, Any]:
    """The gold calls of each multi-turn entry with their results, worked out once."""
    path = cache / f"gold-{VERSION}.json"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.noise_quality.bfcl", str(package)]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        path.write_bytes(out)
    executed: dict[str, Any] = json.loads(path.read_text())
    return executed


def execute_gold(package: Path) -> dict[str, Any]:
    """Every gold call of the multi-turn entries, led through the package's simulators."""
    import importlib

    sys.path.insert(0, str(package))
    backends = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    data = package / "bfcl_eval" / "data"
    executed = {}
    for entry, answers in pairs(data, "multi_turn_base"):
        instances = []
        for name in entry["involved_classes"]:
            instance = getattr(importlib.import_module(backends.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in backends.STATELESS_CLASSES:
                instance._load_scenario(entry["initial_config"].get(name, {}))
            instances.append(instance)
        turns = [[_lead(instances, source) for source in turn] for turn in answers["ground_truth"]]
        files = (backends.MULTI_TURN_FUNC_DOC_FILE_MAPPING[name] for name in entry["involved_classes"])
        executed[entry["id"]] = {"turns": turns, "documents": [Path(file).stem for file in files]}
    return executed


def _lead(instances: Sequence[object], source: str) -> tuple[str, dict[str, Any], str]:
    """One gold call: its tool, arguments and result. It is written as Python, which is read, never run."""
    import inspect

    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name), source
    tool = call.func.id
    method = next(getattr(one, tool) for one in instances if hasattr(one, tool))
    positional = [ast.literal_eval(one) for one in call.args]
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    arguments = dict(inspect.signature(method).bind(*positional, **named).arguments)
    try:
        result = method(**deepcopy(arguments))  # Some keep a list, and later calls would change it.
    except Exception as error:  # As the package's own executor says it.
        result = f"Error during execution: {error}"
    return tool, arguments, json.dumps(result, default=str) if isinstance(result, dict) else str(result)


def pairs(data: Path, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Entries with their answers."""
    answers = {}
    for line in (data / "possible_answer" / f"BFCL_v4_{name}.json").read_text().splitlines():
        answer = json.loads(line)
        answers[answer["id"]] = answer
    for line in (data / f"BFCL_v4_{name}.json").read_text().splitlines():
        entry = json.loads(line)
        yield entry, answers[entry["id"]]


def _read_accepted(answers: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]) -> Iterator[Value]:
    """The values of single-turn answers: of each parameter, what is accepted."""
    for answer in answers:
        for accepted in (one for arguments in answer.values() for one in arguments.values()):
            if any(isinstance(one, dict | list) for one in accepted):
                yield from spellings(accepted[0])
            elif found := tuple(text for one in accepted for value in spellings(one) for text in value):
                yield found


def _tool(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _schema(document[key]) for key in ("name", "description", "parameters")}


def _schema(part: Any) -> Any:
    if isinstance(part, list):
        return [_schema(one) for one in part]
    if not isinstance(part, dict):
        return part
    named = {key: _schema(value) for key, value in part.items()}
    kind = named.get("type")
    return {**named, "type": TYPES.get(kind, kind)} if isinstance(kind, str) else named


def spread(found: Sequence[Any], count: int) -> list[Any]:
    step = max(len(found) / max(count, 1), 1.0)
    return [found[int(at * step)] for at in range(min(count, len(found)))]


if __name__ == "__main__":
    json.dump(execute_gold(Path(sys.argv[1])), sys.stdout)
