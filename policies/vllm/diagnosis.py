"""Diagnose from its log why a server ended: one line instead of a hundred."""

from __future__ import annotations

import re
from pathlib import Path

_READ = 200_000
"""Bytes of the log's end that are looked at."""
_KNOWN = (
    (
        r"less than requested memory for kv|less than desired [CG]PU memory utilization",
        "less memory is free than it is to take; lower VLLM_CPU_KVCACHE_SPACE or --gpu-memory-utilization, "
        "or end what else takes memory",
    ),
    (
        r"No available memory for the cache blocks|larger than the available KV cache",
        "there is no room for the KV cache; lower --max-model-len, or raise VLLM_CPU_KVCACHE_SPACE or "
        "--gpu-memory-utilization",
    ),
    (
        r"OutOfMemoryError|CUDA out of memory|can't allocate memory|Cannot allocate memory|MemoryError",
        "out of memory; serve a smaller model, or lower --max-num-seqs, --max-model-len or the KV cache",
    ),
    (r"[Aa]ddress already in use", "the port was taken while it started; choose another --port"),
    (
        r"architectures? .* (?:is|are) not supported",
        "vLLM doesn't know the model's architecture; see config.json",
    ),
    (
        r"validation errors? for \w+\n(?:.*pid=\d+\))?\s*(?:Value error, )?(.{1,300}?)(?:\. | \[type=|$)",
        "it refuses its settings: {0}",
    ),
    (r"unrecognized arguments: (.*)", "vLLM doesn't know these arguments: {0}"),
    (r"No module named '?([\w.]+)", "its environment lacks {0}; run `make vllm`"),
)
_KILLED = -9
_ELSEWHERE = "See root cause above"
"""What vLLM's first process says of an error of another one."""


def diagnose(log: Path, code: int) -> str:
    """Describe why a server ended with this exit code, and where its log is."""
    try:
        text = log.read_bytes()[-_READ:].decode(errors="replace")
    except OSError:
        text = ""
    for pattern, words in _KNOWN:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return f"vLLM ended: {words.format(*found.groups())} (log: {log})"
    if code == _KILLED:
        return f"vLLM was killed: out of memory, most likely; see the system's log (its own: {log})"
    return f"vLLM ended with exit code {code}: {_last_error(text)} (log: {log})"


def _last_error(text: str) -> str:
    """The last line that reads like a Python exception, else the last line."""
    found = re.findall(r"^.*?((?:\w+\.)*\w+(?:Error|Exception): .*)$", text, re.MULTILINE)
    errors = [line for line in found if _ELSEWHERE not in line]
    lines = text.strip().splitlines() or ["it said nothing"]
    return str((errors or lines)[-1]).strip()[:300]
