"""The engine's benchmark, as far as that goes without an engine: its requests, its section of the page."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.engine.load import Shape, write_work
from benchmarks.engine.report import section
from benchmarks.gateway.machine import machine
from benchmarks.gateway.work import read_work
from benchmarks.sections import list_sections, put_section, section_of


def test_streams_of_other_prompts_go_on_the_wire_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "streams.work"
    write_work(path, Shape(connections=3, streams=2, tokens=5), captured=True)
    requests = [request for connection in read_work(path) for request in connection]
    heads, bodies = zip(*(request.split(b"\r\n\r\n") for request in requests), strict=True)
    asked = [json.loads(body) for body in bodies]
    assert len(read_work(path)) == 3 and len(set(bodies)) == 6
    assert all(one["stream"] and one["max_tokens"] == 5 and one["return_token_ids"] for one in asked)
    assert len({head.split(b"X-Crosswind-Session: ")[1] for head in heads}) == 6


def test_a_section_takes_the_place_of_its_last_and_leaves_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nBefore.\n")
    put_section(page, "engine", "## One\n")
    page.write_text(page.read_text() + "\nBehind.\n")
    put_section(page, "engine", "## Two\n")
    text = page.read_text()
    assert text.startswith("# Page\n\nBefore.\n\n<!-- engine: begin -->\n## Two\n<!-- engine: end -->\n")
    assert text.endswith("\nBehind.\n") and "One" not in text
    assert section_of(text, "engine").splitlines()[1] == "## Two" and section_of(text, "other") == ""


def test_every_section_of_a_page_is_listed_in_order(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for name in ("pairs", "engine", "tools", "trainer"):
        put_section(page, name, f"## Of {name}\n")
    kept = [section.splitlines()[1] for section in list_sections(page.read_text())]
    assert kept == ["## Of pairs", "## Of engine", "## Of tools", "## Of trainer"]


def test_the_section_tells_what_was_measured() -> None:
    figures = dict.fromkeys(
        ("pause", "pause_most", "cpu", "clean", "noisy", "least", "bare_first", "bare_rate", "gateway_first",
         "gateway_rate", "captured_first", "captured_rate", "engine_cpu", "captured_cpu", "behind_cpu",
         "gateway_cpu"),
        0.123,
    )  # fmt: skip
    words = dict.fromkeys(
        ("swapping", "first", "first_whole", "first_asked", "token", "token_whole", "token_asked", "profile",
         "command", "date", "vllm", "build", "rounds", "swaps", "swapped", "sessions", "turns"),
        "said",
    )  # fmt: skip
    told = section({**figures, **words, "machine": machine()}, '{"raw": 1}')
    assert "| … sessions with noise (`said`) | 12.3% | 12.3% |" in told and '{"raw": 1}' in told
