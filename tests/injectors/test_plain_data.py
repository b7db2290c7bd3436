"""Threads may convert to a type that none of them has used before."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import sys, threading
from dataclasses import make_dataclass
from crosswind.injectors.plain_data import convert

sys.setswitchinterval(1e-6)
for number in range(300):
    inner = make_dataclass("Inner", [(f"b{n}", int, 0) for n in range(20)])
    kind = make_dataclass("Kind", [("a", inner), *((f"c{n}", str, "") for n in range(20))])
    begin = threading.Barrier(4)
    def use():
        begin.wait()
        assert convert({"a": {"b1": 1}, "c19": "x"}, kind).a.b1 == 1
    threads = [threading.Thread(target=use) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
"""


def test_a_types_first_use_by_several_threads_at_once_is_no_crash() -> None:
    """In a process of its own, since what is guarded against is a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
