"""The small corpora of our own: travel, code, SQL, six languages, real errors, and users' instructions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.noise_quality.samples import Exchange, Sample, make_sample
from crosswind.simulators.bfcl.inside.values import Call, spellings

FOLDER = Path(__file__).parent / "corpora"
ENGLISH, LANGUAGES = ("travel", "code", "sql"), ("de", "es", "fr", "zh", "ja", "ar")
USER_INSTRUCTIONS = "instructions"


def read_own(folder: Path = FOLDER) -> Iterator[Sample]:
    """Every conversation of the corpora; then the instructions of models that play users."""
    tools = json.loads((folder / "tools.json").read_text())
    for corpus in ENGLISH + LANGUAGES:
        language = corpus if corpus in LANGUAGES else "en"
        declared = {one[0]: _tool(*one) for one in tools}
        for number, line in enumerate((folder / f"{corpus}.jsonl").read_text().splitlines()):
            document = json.loads(line)
            exchanges = [_exchange(one) for one in document["turns"]]
            used = [declared[name] for name in document["tools"]]
            yield make_sample(f"{corpus}-{number}", corpus, language, exchanges, used)
    for number, line in enumerate((folder / "instructions.jsonl").read_text().splitlines()):
        said = [Exchange("Hello.", (), ())]
        yield make_sample(f"instructions-{number}", USER_INSTRUCTIONS, "en", said, (), json.loads(line))


def read_errors(folder: Path = FOLDER) -> list[str]:
    """Errors as real systems write them."""
    return [json.loads(line) for line in (folder / "errors.jsonl").read_text().splitlines()]


def _exchange(document: Mapping[str, Any]) -> Exchange:
    """`gold` has the values that the user says in other letters than the call."""
    calls = [
        Call(name, arguments, result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
        for name, arguments, result in document["calls"]
    ]
    gold = [value for call in calls for value in spellings(call.arguments)]
    return Exchange(document["user"], calls, (*gold, *((one,) for one in document.get("gold", ()))))


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in its short form: each parameter is its type, its description, and the values that it takes."""
    properties = {
        key: {"type": kind, "description": says, **({"enum": values[0]} if values else {})}
        for key, (kind, says, *values) in parameters.items()
    }
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(properties)[:1]},
    }
