"""What the whole suite shares: processes, and real vLLM, started once, and what is said where it can't be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from crosswind.policies.vllm.environment import NOT_INSTALLED, NotInstalled, find
from tests.loop.children import Children, owner
from tests.vllm_server import VllmServed, end_with_the_starter, serving_vllm

# As the gateway's own logs have it; the default one spends seconds on a traceback.
structlog.configure(
    processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
)

# How long an example takes says nothing on a busy machine. The same examples each time, so that a failure is
# of the change at hand; with `EXPLORE` set, new ones.
settings.register_profile(
    "crosswind",
    deadline=None,
    derandomize="EXPLORE" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("crosswind")

_left_out: list[str] = []


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    """Owns the processes that one test starts."""
    with owner(tmp_path / "logs") as owned:
        yield owned


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServed]:
    """`crosswind policy serve`, with vLLM behind it; see `vllm`."""
    try:
        find()
    except NotInstalled as error:
        pytest.skip(str(error))
    with serving_vllm(tmp_path_factory.mktemp("vllm")) as served:
        yield served
        # The last test of all, since nothing is left to ask after it: it is an error of whoever came last.
        end_with_the_starter(served)


@pytest.fixture
def vllm(vllm_server: VllmServed) -> Iterator[VllmServed]:
    """Real vLLM that serves `vllm.first`, the package's policy; whatever a test publishes is taken back."""
    yield vllm_server
    vllm_server.reset()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and "vllm" in report.keywords:
        _left_out.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _left_out:
        terminalreporter.section("vLLM isn't installed", red=True)
        terminalreporter.write_line(
            f"{len(_left_out)} tests that need it did not run. `make vllm` installs it, or says why it "
            f"can't; without other failures this run ends with {NOT_INSTALLED}."
        )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _left_out and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = NOT_INSTALLED
