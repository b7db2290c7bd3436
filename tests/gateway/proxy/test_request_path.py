"""A request's way through the code is short: how many of our files it enters, and how often it changes
between them.

Who follows a request through the code has to open these files, in this order. A ceiling here may be lowered;
before you raise one, look for the step that belongs elsewhere, or that needn't be made.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import crosswind.gateway
import crosswind.injectors
from crosswind.testing.replies import DONE, chunks
from tests.gateway.closed_world import ABBREVIATED, profile, tool
from tests.gateway.servers import Running, delta, event, gateway, upstream

ROOTS = tuple(f"{Path(package.__file__).parent}/" for package in (crosswind.gateway, crosswind.injectors))
ANSWER = b"".join(
    [
        event([delta("", role="assistant")]),
        *(event([delta(f" word{number}")]) for number in range(8)),
        event([delta(finish="stop")]),
        event([], usage={"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}),
        DONE,
    ]
)
NOISE = """
name: noisy
rules:
- {operator: user.typos, severity: 1.0, when: {probability: 1.0}}
"""
TURNS = 6


@dataclass
class Walk:
    """The functions of ours that were called, in order, as (file, name). A coroutine that goes on counts as
    called again.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)

    def note(self, frame: FrameType, kind: str, _: Any) -> None:
        code = frame.f_code
        if kind == "call" and code.co_filename.startswith(ROOTS):
            self.steps.append((code.co_filename, code.co_name))

    @property
    def files(self) -> int:
        return len({file for file, _ in self.steps})

    @property
    def changes(self) -> int:
        return sum(1 for _ in groupby(self.steps, key=lambda step: step[0])) - 1

    def __str__(self) -> str:
        stays = [
            f"{file.rpartition('/crosswind/')[2]}: {' '.join(name for _, name in steps)}"
            for file, steps in groupby(self.steps, key=lambda step: step[0])
        ]
        return "\n".join([f"{self.files} files, {self.changes} changes of file", *stays])


async def walk(running: Running) -> Walk:
    """The shortest way of a streamed turn in a conversation that has begun: a read more or less, or a timer
    that was due, makes another longer.
    """
    messages: list[dict[str, Any]] = []
    walks = []
    for turn in range(TURNS):
        messages.append(
            {"role": "user", "content": f"What is the weather like in Lisbon on day {turn} of May?"}
        )
        body = {"model": "tiny", "messages": messages, "stream": True, "tools": [tool()]}
        walks.append(taken := Walk())
        sys.setprofile(taken.note)
        try:
            answer = await running.chat(body, session="s")
        finally:
            sys.setprofile(None)
        assert answer.content.endswith(DONE)
        await running.flush()
        messages.append({"role": "assistant", "content": "".join(f" word{number}" for number in range(8))})
    return min(walks[2:], key=lambda one: (one.changes, one.files))


@pytest.mark.parametrize(
    ("given", "files", "changes"),
    [
        pytest.param({"record": "none"}, 22, 56, id="neither noise nor a record"),
        pytest.param({}, 44, 143, id="clean"),
        # The noise acts in each of these turns: it is drawn, checked by the guard, told, and remembered.
        pytest.param({"noise": NOISE}, 81, 282, id="text noise"),
        pytest.param({"noise": profile(ABBREVIATED)}, 66, 257, id="renamed tools"),
    ],
)
async def test_a_streamed_request(tmp_path: Path, given: dict[str, Any], files: int, changes: int) -> None:
    async with upstream(chunks(ANSWER)) as app, gateway(tmp_path, app, **given) as running:
        taken = await walk(running)
    assert taken.files <= files, str(taken)
    assert taken.changes <= changes, str(taken)
