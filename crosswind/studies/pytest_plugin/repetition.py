"""The attempts at one test: each in a session of its own, with fixtures of its own."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import call_and_report
from anyio.from_thread import start_blocking_portal

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.exposure import NOTHING, explain_no_noise
from crosswind.gateway.client import Client, GatewayError, OpenedSession
from crosswind.gateway.trajectory.store import Store, StoreError, open_existing
from crosswind.simulators.episodes.profile_files import send_profile
from crosswind.studies.attempts import read_attempts, with_labels
from crosswind.studies.chaos.episodes import OFF
from crosswind.studies.chaos.examination import examine
from crosswind.studies.chaos.gateways import GatewayChoice, open_gateway, watch_over
from crosswind.studies.chaos.processes import Ended
from crosswind.studies.chaos.run_folder import STORE
from crosswind.studies.chaos.tasks import ID_LENGTH
from crosswind.studies.pytest_plugin.summary import encode

_RETRIES = 2
"""How often an attempt that the upstream or the gateway failed is made again."""


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    upstream: str | None
    config: Path | None
    tools_read_only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestSession:
    """What the fixture gives."""

    __test__ = False

    session: OpenedSession

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def base_url(self) -> str:
        """For OpenAI's SDKs."""
        return self.session.base_url

    @property
    def anthropic_base_url(self) -> str:
        """For Anthropic's SDKs."""
        return self.session.anthropic_base_url

    @property
    def api_key(self) -> str:
        return self.session.api_key

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which SDKs and coding agents find the gateway."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": self.api_key,
            "ANTHROPIC_BASE_URL": self.anthropic_base_url,
            "ANTHROPIC_AUTH_TOKEN": self.api_key,
            "CROSSWIND_SESSION": self.id,
        }


class Sessions:
    """A gateway, for as long as pytest runs."""

    def __init__(self, options: GatewayOptions, folder: Path) -> None:
        self.folder = folder
        self.run = f"pytest-{secrets.token_hex(4)}"
        token = secrets.token_hex(8)
        reading = [part for name in options.tools_read_only for part in ("--tools-read-only", name)]
        choice = GatewayChoice(options.upstream, None, None, options.config, None, reading)
        with ExitStack() as stack:
            stack.enter_context(watch_over(token))
            portal = stack.enter_context(start_blocking_portal())
            gateway = stack.enter_context(
                portal.wrap_async_context_manager(open_gateway(choice, folder, token))
            )
            self.control = gateway.control
            self.client = stack.enter_context(Client(gateway.control))
            self.store: Store = stack.enter_context(closing(open_existing(gateway.store)))
            self._stack = stack.pop_all()

    @property
    def place(self) -> Path:
        """Of the store."""
        return self.folder / STORE

    def close(self) -> None:
        self._stack.close()

    def open(
        self, task: str, sample: int, profile: str, seed: int, *, user_answers: bool = False
    ) -> TestSession:
        noisy = profile != OFF
        labels: dict[str, Any] = {"purpose": "pytest", "run": self.run, "task": task, "sample": sample}
        opened = self.client.open_session(
            id=f"p-{secrets.token_hex(6)}",
            task_id=task,
            rollout_index=sample,
            arm="noisy" if noisy else "clean",
            profile=profile,
            seed=seed,
            user_can_answer=None if user_answers else False,
            labels=labels,
        )
        return TestSession(opened)

    @contextmanager
    def open_clean(self, nodeid: str) -> Iterator[TestSession]:
        session = self.open(name_task(nodeid), 0, OFF, 0)
        yield session
        self.client.close(session.id)


def name_task(nodeid: str) -> str:
    """A test's name as a task's."""
    printable = "".join(one if one.isprintable() else "?" for one in nodeid)
    if len(printable) <= ID_LENGTH:
        return printable
    return f"{printable[: ID_LENGTH - 17]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a marker says."""

    profiles: tuple[str, ...]
    samples: int
    min_success: float
    max_drop: float | None
    seed: int
    user_answers: bool


def read_marker(
    profiles: Sequence[str] | str,
    samples: int = 1,
    min_success: float = 1.0,
    max_drop: float | None = None,
    seed: int = 0,
    user_answers: bool = False,
) -> Wanted:
    """Read the marker's arguments. Raises UsageError."""
    names = (profiles,) if isinstance(profiles, str) else tuple(profiles)
    if not names or OFF in names or not all(isinstance(one, str) for one in names):
        raise pytest.UsageError("crosswind marker: `profiles` names noise profiles, and not `off`")
    if not isinstance(samples, int) or samples < 1:
        raise pytest.UsageError(f"crosswind marker: samples={samples!r}; give a number from 1")
    for name, value in (("min_success", min_success), ("max_drop", max_drop)):
        if value is not None and not 0.0 <= value <= 1.0:
            raise pytest.UsageError(f"crosswind marker: {name}={value!r}; give a share from 0 to 1")
    return Wanted(names, samples, min_success, max_drop, seed, user_answers)


class _Siblings:
    """Stands for another test beside this one: what this one alone needs is torn down."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def listchain(self) -> list[Any]:
        return self._item.listchain()[:-1]


class Repetition:
    """A marked test, run as often as its marker says, and reported as one."""

    def __init__(
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        marker: pytest.Mark,
        open_sessions: Callable[[], Sessions],
        current: pytest.StashKey[TestSession],
        name: str,
    ) -> None:
        self._item = item
        self._nextitem = nextitem
        self._marker = marker
        self._open_sessions = open_sessions
        self._current = current
        self._name = name
        self._failures: list[tuple[str, str]] = []
        """Of failed noisy attempts: the session, and what pytest says."""

    def run(self) -> None:
        item = self._item
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            reports = self._reports()
        except (GatewayError, StoreError) as error:
            reports = self._report_error(error)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _report_error(self, error: Exception) -> list[pytest.TestReport]:
        """The reports of a test that can't be repeated, such as under a profile that isn't known. The other
        tests go on."""
        item = self._item
        said = pytest.fail.Exception(f"crosswind: {error}", pytrace=False)

        def fail() -> None:
            raise said

        failed = pytest.CallInfo.from_call(fail, "setup")
        report = item.ihook.pytest_runtest_makereport(item=item, call=failed)
        # Not by the hook, which expects that there was a setup.
        item.session._setupstate.teardown_exact(self._nextitem)
        return [report]

    def _reports(self) -> list[pytest.TestReport]:
        """The reports of the whole: of the first attempt that says something else than passed or failed, or
        of the last with the verdict on all."""
        try:
            wanted = read_marker(*self._marker.args, **self._marker.kwargs)
            sessions = self._open_sessions()
            names = [send_profile(sessions.control, "profiles", one) for one in wanted.profiles]
        except Exception as error:
            raise pytest.UsageError(f"{self._item.nodeid}: {error}") from error
        task = name_task(self._item.nodeid)
        plan = [(sample, name) for sample in range(wanted.samples) for name in (OFF, *names)]
        reports: list[pytest.TestReport] = []
        for place, (sample, profile) in enumerate(plan):
            reports = self._attempt(sessions, task, sample, profile, wanted, last=place == len(plan) - 1)
            if any(one.when != "call" and not one.passed for one in reports) or any(
                one.skipped for one in reports
            ):
                return reports
        attempts = read_attempts(sessions.store, with_labels({"run": sessions.run, "task": task})).attempts
        call = next(one for one in reports if one.when == "call")
        problem = self._find_problem(attempts, wanted)
        call.outcome = "failed" if problem else "passed"
        call.longrepr = self._describe(problem, attempts, sessions) if problem else None
        call.user_properties.append((self._name, encode(attempts)))
        return reports

    def _attempt(
        self, sessions: Sessions, task: str, sample: int, profile: str, wanted: Wanted, *, last: bool
    ) -> list[pytest.TestReport]:
        item = self._item
        for number in range(1 + _RETRIES):
            session = sessions.open(task, sample, profile, wanted.seed, user_answers=wanted.user_answers)
            item.stash[self._current] = session
            item._initrequest()  # type: ignore[attr-defined]
            reports = [call_and_report(item, "setup", log=False)]
            if reports[0].passed:
                reports.append(call_and_report(item, "call", log=False))
            call = reports[-1]
            void = examine(sessions.store, session.id, Ended(0)).void
            again = void is not None and number < _RETRIES
            following = self._nextitem if last and not again else _Siblings(item)
            reports.append(call_and_report(item, "teardown", log=False, nextitem=following))
            if void is not None:
                sessions.client.close(session.id, void=void.value)
            else:
                sessions.client.reward(session.id, float(call.passed), source="pytest")
                sessions.client.close(session.id)
            if call.failed and profile != OFF and void is None:
                self._failures.append((session.id, _last_line(call)))
            if not again:
                break
        return reports

    def _find_problem(self, attempts: Sequence[Attempt], wanted: Wanted) -> str:
        """Why the test fails; empty if it passes."""
        clean = [one for one in attempts if one.arm is Arm.CLEAN and one.success is not None]
        noisy = [one for one in attempts if one.arm is Arm.NOISY and one.success is not None]
        if not clean or not noisy:
            reasons = sorted({one.void.value for one in attempts if one.void is not None})
            return f"no attempt counts in one of the arms: all were void ({', '.join(reasons)})"
        calm, shaken = _share(clean), _share(noisy)
        if calm < wanted.min_success:
            return (
                f"{_count(clean)} clean attempts passed, so it isn't the noise: "
                f"{wanted.min_success:.0%} are needed"
            )
        if shaken < wanted.min_success:
            return (
                f"{_count(noisy)} noisy attempts passed ({shaken:.0%}), {wanted.min_success:.0%} are needed; "
                f"{_count(clean)} clean ones passed"
            )
        if wanted.max_drop is not None and calm - shaken > wanted.max_drop:
            return (
                f"success drops from {calm:.0%} to {shaken:.0%} under noise, by {100 * (calm - shaken):.0f} "
                f"points; {100 * wanted.max_drop:.0f} are allowed"
            )
        return _find_idle_profile(noisy)

    def _describe(self, problem: str, attempts: Sequence[Attempt], sessions: Sessions) -> str:
        lines = [f"crosswind: {problem}"]
        by_session = {one.sessions[0]: one for one in attempts}
        for session, said in self._failures[:3]:
            attempt = by_session[session]
            met = ", ".join(dict.fromkeys(fault.operator for fault in attempt.faults)) or "no noise"
            calm = next(
                (
                    one.sessions[0]
                    for one in attempts
                    if one.arm is Arm.CLEAN and one.sample == attempt.sample and one.success is not None
                ),
                None,
            )
            lines += [
                "",
                f"sample {attempt.sample} under {attempt.profile} met {met}:",
                f"    {said}",
                f"    crosswind sessions show {session} --store {sessions.place}",
                *(
                    [f"    without noise: crosswind sessions show {calm} --store {sessions.place}"]
                    if calm
                    else []
                ),
            ]
        if len(self._failures) > 3:
            lines += ["", f"and {len(self._failures) - 3} more noisy attempts failed"]
        return "\n".join(lines)


def _find_idle_profile(noisy: Sequence[Attempt]) -> str:
    """That nothing could be injected under a profile, and why; empty where noise acted, or no draw fell."""
    for profile in dict.fromkeys(one.profile for one in noisy):
        under = [one for one in noisy if one.profile == profile]
        if not any(one.exposed for one in under):
            because = explain_no_noise(under)
            if because.startswith(NOTHING):
                return f"under {profile} {because}, so that the test tells nothing of noise"
    return ""


def _share(attempts: Sequence[Attempt]) -> float:
    return sum(one.success or 0.0 for one in attempts) / len(attempts)


def _count(attempts: Sequence[Attempt]) -> str:
    return f"{sum(one.success == 1.0 for one in attempts)} of {len(attempts)}"


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    said = crash.message if crash is not None else report.longreprtext
    return str(said).strip().partition("\n")[0][:300]
