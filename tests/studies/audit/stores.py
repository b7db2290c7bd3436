"""Stores made through a gateway, and what the audit finds in them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from crosswind.gateway.cli import root
from tests.gateway.dialogue import TURNS, body, history, lead
from tests.gateway.servers import gateway, upstream


def audited(tmp_path: Path, *arguments: str) -> Result:
    command = ["noise", "audit", str(tmp_path / "store.db"), *arguments]
    return CliRunner().invoke(root, command, env={"COLUMNS": "200"})


def broken(tmp_path: Path) -> list[dict[str, Any]]:
    """What the audit finds; exit code 1 exactly where it finds something."""
    result = audited(tmp_path, "--json")
    found: list[dict[str, Any]] = json.loads(result.stdout)["breaches"]
    assert result.exit_code == (1 if found else 0), result.output
    return found


def tamper(tmp_path: Path, statement: str) -> None:
    """Change the store by an SQL statement."""
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute(statement)


async def store(tmp_path: Path, profile: str, *, sessions: int = 1, statuses: bool = False) -> None:
    """A store, made by conversations through a gateway under the profile."""
    async with upstream() as app, gateway(tmp_path, app, noise=profile) as running:
        for number in range(sessions):
            if statuses:
                for turn in range(len(TURNS)):
                    await running.chat(body(*history(turn + 1)), f"s{number}")
            else:
                await lead(running, f"s{number}", range(len(TURNS)))
        await running.flush()
