"""Runs third-party operators in a separate process, checks their answers, and disables those that keep
failing.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import structlog

from crosswind.gateway.config.sections import ThirdParty
from crosswind.gateway.sandbox.process import NoAnswer, Process
from crosswind.injectors import registry
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.operator import Registered, use_sandbox
from crosswind.injectors.plain_data import convert
from crosswind.injectors.result_validation import OperatorFailed, check_draw, check_result
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Draw, Result, ToolChange

_log = structlog.get_logger("crosswind.confinement")
_GRACE_S = 1.0
"""Seconds after a deadline at which the process ends itself, in case the gateway is gone."""
T = TypeVar("T")


class Confined:
    """Runs third-party operators in a separate process.

    Calls `failed` for each failure (operator, kind) and `off` for each operator that is disabled.
    """

    def __init__(
        self, settings: ThirdParty, failed: Callable[[str, str], None], off: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._failed, self._off = failed, off
        self._process = Process(settings.memory)
        self._asking = threading.Lock()
        self._deciding = asyncio.Lock()
        self._answers: dict[str, deque[bool]] = {}
        self._switched_off: set[str] = set()

    @staticmethod
    def is_needed(plan: Plan) -> bool:
        """Whether the plan contains a third-party operator."""
        known = registry.operators()
        return any(entry.origin for rule in plan.rules if (entry := known.get(rule.operator)) is not None)

    def start(self) -> None:
        """Start the process, so that it is ready when needed."""
        self._process.start()

    def close(self) -> None:
        with self._asking:
            self._process.end()

    async def decide(self, decision: Callable[[], T]) -> T:
        """Run a decision that may ask third-party operators off the event loop. One at a time: they share
        one process."""
        async with self._deciding:
            return await asyncio.to_thread(self._decide, decision)

    def _decide(self, decision: Callable[[], T]) -> T:
        with use_sandbox(self):
            return decision()

    def draw(
        self, entry: Registered, options: Mapping[str, Any], target: Any, rng: SeededRandom, severity: float
    ) -> Draw | None:
        """The operator's draw. Raises OperatorFailed if it gave no valid one."""
        answer = self._ask(entry.name, ("draw", entry.name, target, (dict(options), rng, severity)))
        return self._check_answer(entry.name, lambda: check_draw(entry.name, answer.get("draw")))

    def apply(self, entry: Registered, target: Any, draw: Draw) -> Result:
        """The operator's result for the target. Raises OperatorFailed if it is not valid."""
        answer = self._ask(entry.name, ("apply", entry.name, target, draw))

        def result() -> Result:
            payload = answer.get("text", answer.get("settings"))
            if "change" in answer:
                payload = convert(answer["change"], ToolChange)
            return check_result(entry.name, entry.site, Result(payload, answer.get("note")))  # type: ignore[arg-type]

        return self._check_answer(entry.name, result)

    def _ask(self, name: str, question: tuple[Any, ...]) -> dict[str, Any]:
        if name in self._switched_off:
            raise OperatorFailed("the operator is switched off, since it failed too often")
        deadline = self._settings.deadline
        try:
            raw = pickle.dumps((*question, deadline + _GRACE_S))
            with self._asking:
                answer: dict[str, Any] = msgspec.json.decode(
                    self._process.ask(raw, deadline, self._settings.start)
                )
        except NoAnswer as error:
            if error.kind != "starting":
                self._count(name, error.kind)
            raise OperatorFailed(str(error)) from None
        if "failed" in answer:
            self._count(name, answer["failed"])
            raise OperatorFailed(answer["why"])
        return answer

    def _check_answer(self, name: str, check: Callable[[], T]) -> T:
        try:
            found = check()
        except (OperatorFailed, msgspec.ValidationError) as error:
            self._count(name, "contract")
            raise OperatorFailed(str(error)) from None
        self._count(name, None)
        return found

    def _count(self, name: str, failure: str | None) -> None:
        """Count an answer, with its `failure` if any. Disable the operator after too many recent failures."""
        latest = self._answers.setdefault(name, deque(maxlen=self._settings.window))
        latest.append(failure is not None)
        if failure is None:
            return
        self._failed(name, failure)
        _log.warning("a third party's operator failed: clean", operator=name, kind=failure)
        if sum(latest) >= self._settings.failures and name not in self._switched_off:
            self._switched_off.add(name)
            self._off(name)
            _log.error("a third party's operator is switched off", operator=name, failures=sum(latest))
