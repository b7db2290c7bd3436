"""The process that runs third-party operators. It answers one question at a time.

The gateway pickles questions; answers are JSON, because the gateway must not trust them. Each frame starts
with its length in four bytes, little-endian. Operators' output goes to stderr. If an operator stalls after
the gateway is gone, a kernel timer ends the process.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
from typing import IO, Any

import msgspec

from crosswind.injectors import registry
from crosswind.injectors.faults import Fault
from crosswind.injectors.result_validation import OperatorFailed
from crosswind.injectors.targets import Result

READY = b"ready"
LONGEST = 64 << 20
"""The most bytes of an answer."""


def answer(question: bytes) -> bytes:
    """The operator's answer to a question, or its failure."""
    kind, name, target, given, seconds = pickle.loads(question)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        entry = registry.operators()[name]
        if kind == "draw":
            options, rng, severity = given
            reply: dict[str, Any] = {"draw": entry.draw(options, target, rng, severity)}
        else:
            reply = _encode_result(entry.apply(target, given))
    except OperatorFailed as error:
        reply = {"failed": "contract", "why": str(error)}
    except Exception as error:
        reply = {"failed": "raised", "why": f"the operator failed ({type(error).__name__})"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return _encode_answer(reply)


def _encode_result(result: Result) -> dict[str, Any]:
    match result.payload:
        case str():
            return {"text": result.payload, "note": result.note}
        case Fault():
            return {"settings": result.payload.settings(), "note": result.note}
        case _:
            return {"change": result.payload, "note": result.note}


def _encode_answer(reply: dict[str, Any]) -> bytes:
    try:
        raw = msgspec.json.encode(reply)
    except (TypeError, ValueError, RecursionError) as error:
        raw = b""
        reply = {"failed": "contract", "why": f"the operator gave what can't be written down ({error})"}
    if len(raw) > LONGEST:
        reply = {"failed": "contract", "why": f"the operator gave {len(raw)} bytes"}
    return raw if "failed" not in reply else msgspec.json.encode(reply)


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer questions until the pipe is closed."""
    registry.operators()
    _send(answers, READY)
    while len(head := questions.read(4)) == 4:
        _send(answers, answer(questions.read(int.from_bytes(head, "little"))))


def _send(answers: IO[bytes], raw: bytes) -> None:
    answers.write(len(raw).to_bytes(4, "little") + raw)
    answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Larger allocations raise MemoryError here instead of taking the gateway's memory.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = int(sys.argv[1]) if hard == resource.RLIM_INFINITY else min(int(sys.argv[1]), hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(sys.stdin.buffer, out)
