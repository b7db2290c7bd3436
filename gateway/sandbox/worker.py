"""The process in which third parties' operators run: it answers one question after the other.

Questions are pickled by the gateway, answers are JSON: what comes from here is checked, not trusted. Frames
have a length of four bytes, little-endian. Whatever operators print goes to stderr. Should an operator stall
and the gateway be gone, the alarm of the kernel ends the process.
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
from crosswind.injectors.contract import OperatorFailed
from crosswind.injectors.faults import Fault
from crosswind.injectors.targets import Result

READY = b"ready"
LONGEST = 64 << 20
"""Bytes of an answer, at most."""


def answer(question: bytes) -> bytes:
    """What an operator gave, or what it did wrong."""
    kind, name, target, given, seconds = pickle.loads(question)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        entry = registry.operators()[name]
        if kind == "draw":
            options, rng, severity = given
            told: dict[str, Any] = {"draw": entry.draw(options, target, rng, severity)}
        else:
            told = _encode_result(entry.apply(target, given))
    except OperatorFailed as error:
        told = {"failed": "contract", "why": str(error)}
    except Exception as error:
        told = {"failed": "raised", "why": f"the operator failed ({type(error).__name__})"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return _encode_answer(told)


def _encode_result(result: Result) -> dict[str, Any]:
    match result.payload:
        case str():
            return {"text": result.payload, "note": result.note}
        case Fault():
            return {"settings": result.payload.settings(), "note": result.note}
        case _:
            return {"change": result.payload, "note": result.note}


def _encode_answer(told: dict[str, Any]) -> bytes:
    try:
        raw = msgspec.json.encode(told)
    except (TypeError, ValueError, RecursionError) as error:
        raw = b""
        told = {"failed": "contract", "why": f"the operator gave what can't be written down ({error})"}
    if len(raw) > LONGEST:
        told = {"failed": "contract", "why": f"the operator gave {len(raw)} bytes"}
    return raw if "failed" not in told else msgspec.json.encode(told)


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until nobody asks any more."""
    registry.operators()
    _send(answers, READY)
    while len(head := questions.read(4)) == 4:
        _send(answers, answer(questions.read(int.from_bytes(head, "little"))))


def _send(answers: IO[bytes], raw: bytes) -> None:
    answers.write(len(raw).to_bytes(4, "little") + raw)
    answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is allocated beyond that raises a MemoryError here, instead of taking the gateway's memory.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = int(sys.argv[1]) if hard == resource.RLIM_INFINITY else min(int(sys.argv[1]), hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(sys.stdin.buffer, out)
