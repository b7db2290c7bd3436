"""Memory of the process: threads share one heap."""

from __future__ import annotations

import subprocess
import sys

import pytest

_COUNT_HEAPS = """
import ctypes, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from crosswind.gateway.http.memory_budget import use_one_heap

if sys.argv[1] == "one":
    use_one_heap()
barrier = Barrier(4)

def allocate():
    barrier.wait()
    return bytes(10_000)

with ThreadPoolExecutor(4) as threads:
    kept = [one.result() for one in [threads.submit(allocate) for _ in range(4)]]
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's heaps")
def test_all_threads_share_one_heap() -> None:
    assert _count_heaps("many") > 1
    assert _count_heaps("one") == 1


def _count_heaps(kind: str) -> int:
    ran = subprocess.run([sys.executable, "-c", _COUNT_HEAPS, kind], capture_output=True, check=True)
    return ran.stdout.count(b"<heap ")
