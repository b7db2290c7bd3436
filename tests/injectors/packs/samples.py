"""Packs of a few entries."""

from __future__ import annotations

import json
from typing import Any

from crosswind.injectors.packs.checks import check
from crosswind.injectors.packs.model import Pack, Problem, parse

DRIFT = {"for": "user.topic_drift", "part": "question"}
SAME = {"for": "user.inconsistent", "part": "same"}
FIELD = {"for": "tool.redundant", "part": "field"}
TOOL = {"for": "schema.redundant_tool", "part": "tool"}
ERRAND = {"for": "user.out_of_scope", "part": "errand"}

GOOD: list[dict[str, Any]] = [
    {**DRIFT, "half": "train", "text": "Oh, before I forget: why do planes fly so high?"},
    {**DRIFT, "half": "test", "text": "my sister wonders whether trains are greener"},
    {**SAME, "half": "train", "text": "{rival}, or rather {value}", "fits": ["date"]},
    {**SAME, "half": "test", "text": "{rival} (hm, no: {value})", "fits": ["date"]},
    {**FIELD, "half": "train", "key": "etag", "text": '"{hex:12}"'},
    {**FIELD, "half": "test", "key": "shard", "text": "{int:1-9}"},
    {**TOOL, "half": "train", "key": "get_lounge", "text": "Finds a lounge.", "parameter": "airport"},
    {**TOOL, "half": "test", "key": "list_visas", "text": "Lists visa rules.", "parameter": "country"},
    {**ERRAND, "half": "train", "text": "also hail me a cab", "served_by": ["taxi"]},
    {**ERRAND, "half": "test", "text": "Could somebody water my plants?", "served_by": ["plant"]},
]


def pack(*entries: dict[str, Any], name: str = "en/travel") -> bytes:
    lines: list[dict[str, Any]] = [{"pack": name, "version": 1, "licence": "Apache-2.0"}]
    lines += [{"id": f"id-{number}", **entry} for number, entry in enumerate(entries)]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode() + b"\n"


def read(*entries: dict[str, Any], name: str = "en/travel") -> Pack:
    found, problems = parse(pack(*entries, name=name))
    assert found is not None and not problems
    return found


def problems(*entries: dict[str, Any], name: str = "en/travel") -> list[Problem]:
    return check(read(*entries, name=name))
