"""Where what a command writes may go."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from crosswind.gateway.whole_file import OutFile


def test_a_pipe_may_lie_in_a_folder_that_cannot_be_written_and_a_file_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    (tmp_path / "open").mkdir()
    link.symlink_to(tmp_path / "open" / "page.html")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # Root may write anywhere.
    for path in (pipe, link):
        assert OutFile().convert(str(path), None, None) == path
    with pytest.raises(click.BadParameter, match="can't be written; name another"):
        OutFile().convert(str(tmp_path / "page.html"), None, None)
