"""The fixture `crosswind`, the marker of the same name, and the summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from crosswind.studies.pytest_plugin.repetition import Sessions, TestSession

_MARKER = "crosswind"
_MARKED = (
    "crosswind(profiles, samples=1, min_success=1.0, max_drop=None, user_answers=False): repeat the test "
    "clean and under each noise profile; it passes if at least that share of the noisy attempts does"
)
ATTEMPTS = "crosswind_attempts"
"""The user property of a test's report with its attempts, as JSON: it also comes from other processes."""
_sessions = pytest.StashKey["Sessions"]()
_current = pytest.StashKey["TestSession"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("crosswind", "tests of agents under noise")
    group.addoption(
        "--crosswind-upstream",
        metavar="URL",
        help="base URL of the model's server, with its version [ini crosswind_upstream, CROSSWIND_UPSTREAM]",
    )
    group.addoption("--crosswind-config", metavar="FILE", help="a configuration for the gateway")
    parser.addini("crosswind_upstream", "base URL of the model's server, with its version")
    parser.addini("crosswind_config", "a configuration for the gateway")
    parser.addini("crosswind_tools_read_only", "tools that only read, by name or glob", type="args")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKED)


def _open(config: pytest.Config) -> Sessions:
    """The gateway of this pytest run, started when the first test asks for it."""
    from crosswind.studies.pytest_plugin.repetition import GatewayOptions, Sessions

    if _sessions not in config.stash:
        upstream = config.getoption("--crosswind-upstream") or config.getini("crosswind_upstream")
        file = config.getoption("--crosswind-config") or config.getini("crosswind_config")
        options = GatewayOptions(
            str(upstream or os.environ.get("CROSSWIND_UPSTREAM") or "") or None,
            Path(str(file)) if file else None,
            tuple(map(str, config.getini("crosswind_tools_read_only"))),
        )
        if options.upstream is None and options.config is None:
            raise pytest.UsageError(
                "crosswind: where is the model? Give --crosswind-upstream https://host/v1, or set "
                "crosswind_upstream in pytest's configuration"
            )
        sessions = Sessions(options, _folder(config))
        config.stash[_sessions] = sessions
        config.add_cleanup(sessions.close)
    return config.stash[_sessions]


def _folder(config: pytest.Config) -> Path:
    """A folder of its own for each run and process, below pytest's cache, which git ignores."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    cache = getattr(config, "cache", None)
    base = Path(cache.mkdir("crosswind")) if cache is not None else Path(".crosswind")
    return base / f"{os.getpid()}-{worker}"


@pytest.fixture
def crosswind(request: pytest.FixtureRequest) -> Iterator[TestSession]:
    """A session of a gateway: `base_url`, `anthropic_base_url`, `api_key`, `id`, and `environment` for
    agents that are commands. Without the marker it is clean."""
    current = request.node.stash.get(_current, None)
    if current is not None:
        yield current
        return
    sessions = _open(request.config)
    with sessions.open_clean(request.node.nodeid) as session:
        yield session


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test as often as its marker says."""
    marker = item.get_closest_marker(_MARKER)
    if marker is None or "crosswind" not in getattr(item, "fixturenames", ()):
        return None
    from crosswind.studies.pytest_plugin.repetition import Repetition

    Repetition(item, nextitem, marker, lambda: _open(item.config), _current, ATTEMPTS).run()
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == ATTEMPTS
    ]
    if found:
        from crosswind.studies.pytest_plugin.summary import summarise

        terminalreporter.section("crosswind: success under noise")
        for line in summarise(found):
            terminalreporter.write_line(line)
