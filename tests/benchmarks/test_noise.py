"""The noise's benchmark runs and tells its figures."""

from __future__ import annotations

import pytest

from benchmarks.noise import main


def test_every_part_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks.noise", "--repeats", "2"])
    main()
    figures = {
        line[:44].strip(): float(line[44:].replace(",", "")) for line in capsys.readouterr().out.splitlines()
    }
    assert figures["bytes"] > 60_000 and (figures["operators"], figures["texts"]) == (10, 40)
    assert figures["texts that differ"] > 30, "the noise took place"
    assert all(value > 0 for value in figures.values()) and len(figures) == 13
