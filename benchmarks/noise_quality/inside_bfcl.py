"""Run by BFCL's own Python: prints a category's entries as JSON lines. Arguments: the folder of
`simulators/bfcl`, and the category.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main(folder: str, category: str) -> None:
    sys.path.append(folder)
    entries: Any = importlib.import_module("inside.entries")
    package: Any = importlib.import_module("inside.package")
    for entry in entries.read_category(category).values():
        if entry.in_turns:
            tools = [
                one for name in entry.document["involved_classes"] for one in package.simulator_tools(name)
            ]
            calls = [[(one.tool, one.arguments, one.result) for one in turn] for turn in entry.calls]
        else:
            raw = entry.document["function"]
            tools, calls = [{**package.write_tool(one), "name": one["name"]} for one in raw], []
        told = {"id": entry.id, "category": category, "said": entry.said, "truth": entry.truth}
        print(json.dumps({**told, "calls": calls, "tools": tools}))


if __name__ == "__main__":
    main(*sys.argv[1:])
