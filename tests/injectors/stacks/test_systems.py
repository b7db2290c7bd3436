"""Each kind of system says only what it really says: no status of HTTP on a shell, no quota of a cloud
in a car."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.stacks.errors import draw_error
from crosswind.injectors.stacks.kinds import find_kinds
from crosswind.injectors.stacks.model import ErrorKind, ToolKind
from crosswind.injectors.targets import Branch, Half, ToolClass, ToolResultTarget

LOCAL = {
    "cd": ({"folder": "src"}, '{"current_working_directory": "/home/kim/src"}'),
    "wc": ({"file_name": "a.txt"}, '{"count": 12, "type": "lines"}'),
    "bash": ({"command": "cat a.txt"}, "one line"),
    "startEngine": ({"mode": "START"}, '{"engineState": "running", "fuelLevel": 13.2}'),
    "set_thermostat": ({"target": 21}, '{"target": 21.0}'),
    "calculate_triangle_area": ({"base": 10, "height": 5}, '{"area": 25.0}'),
    "python_interpreter": ({"code": "print(2)"}, "2"),
}
REMOTE = {
    "get_current_weather": ({"location": "Paris"}, '{"temperature": 14, "humidity": 67}'),
    "convert_currency": ({"amount": 5}, '{"amount": 4.6}'),
    "rent_car": ({"city": "Rome"}, '{"car": "Fiat 500", "price": 40}'),
    "place_order": ({"symbol": "AAPL"}, '{"order_id": 12446, "price": 150.0}'),
}
OF_A_SERVICE = re.compile(
    r"HTTP|https?:|<html|\b[45]\d\d\b|request.?id|trace.?id|RequestId|RetryInfo|quota metric|upstream|gateway"
    r"|API|Exception\b|bearer|\btoken\b(?! expired)",
    re.IGNORECASE,
)
OF_A_SHELL = re.compile(r"sandbox|shell|file handle|\bos error\b", re.IGNORECASE)
OF_A_DEVICE = re.compile(r"\bvehicle\b|\bECU\b|CAN bus|\bdevice\b(?! or resource)", re.IGNORECASE)
OF_FIRST = (ErrorKind.PREREQUISITE, ErrorKind.LOGIN, ErrorKind.EXPIRED)
KINDS = [kind for kind in ErrorKind if kind not in OF_FIRST]


def said(name: str, given: dict[str, object], result: str, kind: ErrorKind, seed: int, half: Half) -> str:
    branch = Branch(half, f"{seed}", "Hello")
    target = ToolResultTarget(result, 0, name, json.dumps(given), ToolClass.READ_ONLY, 0, (), branch=branch)
    return draw_error(target, SeededRandom(f"{seed}"), kind).text


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("tool", LOCAL)
def test_what_is_no_service_says_nothing_of_one(tool: str, half: Half) -> None:
    for kind in KINDS:
        for seed in range(30):
            text = said(tool, *LOCAL[tool], kind, seed, half)
            assert OF_A_SERVICE.search(text) is None, text
            if not tool.startswith(("cd", "wc", "bash")):
                assert OF_A_SHELL.search(text.replace("<sandbox>", "")) is None, text
            if not tool.startswith(("start", "set")):
                assert OF_A_DEVICE.search(text) is None, text


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("tool", REMOTE)
def test_a_service_is_neither_a_shell_nor_a_device(tool: str, half: Half) -> None:
    for kind in KINDS:
        for seed in range(30):
            text = said(tool, *REMOTE[tool], kind, seed, half)
            assert OF_A_SHELL.search(text) is None and OF_A_DEVICE.search(text) is None, text
            assert "<html" not in text, "a proxy's page stands before a page only"


def test_when_to_try_again_is_said_only_of_limits() -> None:
    for half in Half:
        for kind in (ErrorKind.UNAUTHORIZED, ErrorKind.FORBIDDEN, ErrorKind.EXCEPTION, ErrorKind.SCHEMA):
            for tool, call in REMOTE.items():
                for seed in range(30):
                    assert not re.search(r"retry.?after|RetryInfo", said(tool, *call, kind, seed, half), re.I)


@pytest.mark.parametrize(
    ("tool", "arguments", "said_so"),
    [
        ("cd", {"folder": "reports"}, "cd: reports: Permission denied"),
        ("mkdir", {"dir_name": "old"}, "mkdir: cannot create directory 'old': Permission denied"),
        ("wc", {"file_name": "a.txt"}, "wc: a.txt: Permission denied"),
        ("bash", {"command": "tail -n 3 a.log"}, "tail: cannot open 'a.log' for reading: Permission denied"),
    ],
)
def test_a_shell_names_the_program_and_the_file(tool: str, arguments: dict[str, Any], said_so: str) -> None:
    texts = [said(tool, arguments, "{}", ErrorKind.FORBIDDEN, seed, Half.TRAIN) for seed in range(60)]
    assert any(said_so in text for text in texts)
    assert not any("publickey" in text for text in texts)


@pytest.mark.parametrize(
    ("name", "description", "kind"),
    [
        ("add", "Add two numbers.", ToolKind.FUNCTION),
        ("set_mode", "Turns the lights of the room on.", ToolKind.DEVICE),
        ("display_log", "Part of the vehicle control system.", ToolKind.DEVICE),
        ("rent_a_van", "Rents a van and locks the vehicle.", ToolKind.API),
        ("get_followers", "Get the number of followers.", ToolKind.API),
    ],
)
def test_a_description_tells_the_system_of_a_tool_whose_name_does_not(
    name: str, description: str, kind: ToolKind
) -> None:
    tools = (ToolSchema(name, description, {}),)
    of = ToolResultTarget("{}", 0, name, "{}", ToolClass.READ_ONLY, tools=tools)
    found = find_kinds(of, "")
    assert kind in found if kind is not ToolKind.API else found == {kind}
