"""Run tests in the copied tree, in a process that has imported nothing of the project: once to see what each
executes (`trace`), then on one mutant after the other (`serve`). A script that imports nothing of ours.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PYTEST = ("-q", "-p", "no:cacheprovider", "-m", "not slow and not vllm")
PRELOADED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def trace(work: Path, files: list[str], tests: list[str]) -> None:
    """Run the tests once, and keep what each executes. Runs in a process of its own, in the copied tree."""
    before = set(sys.modules)
    coverage: Any = importlib.import_module("coverage")
    covering = coverage.Coverage(data_file=str(work / "coverage"), include=files, config_file=False)
    seconds: Counter[str] = Counter()
    passed: dict[str, bool] = {}

    class Watch:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            covering.switch_context(nodeid)

        def pytest_runtest_logfinish(self) -> None:
            covering.switch_context("")

        def pytest_runtest_logreport(self, report: Any) -> None:
            seconds[report.nodeid] += report.duration
            passed[report.nodeid] = passed.get(report.nodeid, True) and report.passed

    covering.start()
    code = importlib.import_module("pytest").main([*PYTEST, *tests], plugins=[Watch()])
    assert code in (0, 1), f"pytest ended with {code}"
    covering.stop()
    covering.save()
    assert covering.get_data().measured_files(), "the tests import another tree than the one they are in"
    preload = [name for name in sys.modules if name not in before and not is_own(name)]
    unused = [test for test in passed if not passed[test]]
    print("not used, since they fail or are skipped:", *unused, sep="\n  ")
    facts = {"seconds": {test: seconds[test] for test in passed if passed[test]}, "preload": preload}
    (work / "tests.json").write_text(json.dumps(facts))


def serve(work: Path) -> None:
    """Answer requests to run tests: each in a fork of this process, which has imported everything that isn't
    the project's and nothing that is."""
    import pytest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in json.loads((work / "tests.json").read_text())["preload"]:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
    early = [name for name in sys.modules if is_own(name)]
    assert not early, early
    by, log = work / "by", work / "log"

    class Chosen:
        def __init__(self, tests: Iterable[str]) -> None:
            self.tests = set(tests)

        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = [item for item in items if item.nodeid in self.tests]

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not by.exists():
                by.write_text(report.nodeid)

        pytest_collectreport = pytest_runtest_logreport

    for line in sys.stdin:
        tests, seconds = json.loads(line)
        by.unlink(missing_ok=True)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for out in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), out)
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
            code = pytest.main(["-x", *PRELOADED, *PYTEST, *files], plugins=[Chosen(tests)])
            os._exit(int(code))
        ended, status = 0, 0
        while not ended and time.monotonic() - began < seconds:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0 if ended else 0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        outcome = "timeout" if not ended else "survived" if code in (0, 5) else "killed"
        told = by.read_text() if by.exists() else f"pytest ended with {code}"
        print(json.dumps([outcome, told if outcome == "killed" else ""]), flush=True)


def is_own(name: str) -> bool:
    """Whether an imported module is of the tree that this process runs in."""
    file = Path(getattr(sys.modules[name], "__file__", None) or "")
    return file.is_absolute() and file.resolve().is_relative_to(Path.cwd().resolve())


def main() -> None:
    sys.path[0] = str(Path.cwd())
    work, *more = json.loads(sys.argv[2])
    trace(Path(work), *more) if sys.argv[1] == "trace" else serve(Path(work))


if __name__ == "__main__":
    main()
