"""Calls a Python function `verify(task, output)` in a process of its own: `python -m … module:function`.

It reads lines as a checker gets them, {"task": …, "output": …}, and prints a JSON line for each. What the
function prints, and what the programs print that it starts, goes to standard error. With `--ready`, an empty
line says that the function was imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

READY = "--ready"
RAISED = 3
"""The exit status where the function can't be called, raises, or gives something unusable."""


def find(reference: str) -> Callable[[Any, str], Any]:
    """The function. Raises ValueError with the fix."""
    module, separator, name = reference.partition(":")
    if not separator:
        raise ValueError(f"{reference!r} is no module:function")
    # As `python -m` does, also where this was started by another command.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{reference!r} can't be imported: {error}") from error
    if not callable(found):
        raise ValueError(f"{reference!r} is no function")
    return found  # type: ignore[no-any-return]


def main(reference: str, *flags: str) -> int:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # Else a line of the function's own would be taken for an answer.
        function = find(reference)
        if READY in flags:
            print(file=answers, flush=True)
        for given in map(json.loads, sys.stdin):
            result = _simplify(function(given["task"], given["output"]))
            if isinstance(result, bool | int | float):
                result = {"reward": float(result)}
            if not isinstance(result, dict):
                wrong = f"{reference} gave {type(result).__name__}; return True, False or a number"
                print(wrong, file=sys.stderr)
                return RAISED
            print(json.dumps(result, default=_simplify), file=answers, flush=True)
    return 0


def _simplify(value: Any) -> Any:
    """A number of NumPy's or torch's as Python's own. ValueError for an array of several."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def function_command(reference: str, *flags: str) -> list[str]:
    """The command that calls a Python function, as module:function."""
    return [sys.executable, "-m", __name__, reference, *flags]


if __name__ == "__main__":
    try:
        code = main(*sys.argv[1:])
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        code = RAISED
    sys.exit(code)
