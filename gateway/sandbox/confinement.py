"""Third parties' operators under confinement: asked elsewhere, checked here, switched off when they keep on
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
from crosswind.injectors.contract import OperatorFailed, check_draw, check_result
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.operator import Registered, confine
from crosswind.injectors.streams import Stream
from crosswind.injectors.targets import Draw, Result, ToolChange

_log = structlog.get_logger("crosswind.confinement")
_GRACE_S = 1.0
"""Seconds after its deadline at which the process ends itself, should the gateway be gone."""
T = TypeVar("T")


class Confined:
    """Runs third parties' operators in a process of their own.

    `failed` is told of each failure (operator, kind), `off` of each operator that is switched off.
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
        """Whether a third party's operator is in the plan."""
        known = registry.operators()
        return any(entry.origin for rule in plan.rules if (entry := known.get(rule.operator)) is not None)

    def start(self) -> None:
        """Begin the process, so that it is ready when it is needed."""
        self._process.start()

    def close(self) -> None:
        """End the process."""
        with self._asking:
            self._process.end()

    async def decide(self, decision: Callable[[], T]) -> T:
        """Take a decision that may ask third parties' operators, off the event loop. One at a time: they have
        one process."""
        async with self._deciding:
            return await asyncio.to_thread(self._decide, decision)

    def _decide(self, decision: Callable[[], T]) -> T:
        with confine(self):
            return decision()

    def draw(
        self, entry: Registered, options: Mapping[str, Any], target: Any, rng: Stream, severity: float
    ) -> Draw | None:
        """The operator's draw. OperatorFailed where it gave none that can be."""
        told = self._ask(entry.name, ("draw", entry.name, target, (dict(options), rng, severity)))
        return self._check_answer(entry.name, lambda: check_draw(entry.name, told.get("draw")))

    def apply(self, entry: Registered, target: Any, draw: Draw) -> Result:
        """What the operator makes of the target. OperatorFailed where it made nothing that can be."""
        told = self._ask(entry.name, ("apply", entry.name, target, draw))

        def result() -> Result:
            payload = told.get("text", told.get("settings"))
            if "change" in told:
                payload = msgspec.convert(told["change"], ToolChange)
            return check_result(entry.name, entry.site, Result(payload, told.get("note")))  # type: ignore[arg-type]

        return self._check_answer(entry.name, result)

    def _ask(self, name: str, question: tuple[Any, ...]) -> dict[str, Any]:
        if name in self._switched_off:
            raise OperatorFailed("the operator is switched off, since it failed too often")
        deadline = self._settings.deadline
        try:
            raw = pickle.dumps((*question, deadline + _GRACE_S))
            with self._asking:
                told: dict[str, Any] = msgspec.json.decode(
                    self._process.ask(raw, deadline, self._settings.start)
                )
        except NoAnswer as error:
            if error.kind != "starting":
                self._count(name, error.kind)
            raise OperatorFailed(str(error)) from None
        if "failed" in told:
            self._count(name, told["failed"])
            raise OperatorFailed(told["why"])
        return told

    def _check_answer(self, name: str, check: Callable[[], T]) -> T:
        try:
            found = check()
        except (OperatorFailed, msgspec.ValidationError) as error:
            self._count(name, "contract")
            raise OperatorFailed(str(error)) from None
        self._count(name, None)
        return found

    def _count(self, name: str, failure: str | None) -> None:
        """Take in an answer; `failure` is what was wrong with it. Too many wrong ones of the last: off."""
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
