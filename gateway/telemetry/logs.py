"""Logs to stderr, as text or JSON. They contain no credentials: nothing logs headers or bodies, tracebacks
don't show the values of variables, and every line is masked as it is written.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partialmethod
from pathlib import Path
from typing import Any, ClassVar

import structlog

from crosswind.gateway.config.sections import Logging
from crosswind.gateway.control_characters import escape_control_characters
from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.telemetry.codes import code_of
from crosswind.gateway.telemetry.repeats import RepeatFilter

_COUNTED = ("warning", "error")
"""The levels whose repetitions are counted."""
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Logger(structlog.BoundLoggerBase):
    """A bound logger with one threshold for the process, which can change at any time."""

    threshold: ClassVar[int] = logging.INFO
    repeats: ClassVar[RepeatFilter] = RepeatFilter(0.0)

    def _log(self, method: str, event: str, /, **values: Any) -> None:
        if _LEVELS[method] < _Logger.threshold:
            return
        self.log_left_out()
        counted = method in _COUNTED and "exc_info" not in values
        if not counted or _Logger.repeats.admits(method, event, values):
            self._write(method, event, values)

    def log_left_out(self, *, every: bool = False) -> None:
        """Log how many equal events were left out, of those whose time is over or of all."""
        for method, event, values in _Logger.repeats.take_over(every=every):
            self._write(method, event, values)

    def _write(self, method: str, event: str, values: dict[str, Any]) -> None:
        # A log that can't be written (a full disk, a closed pipe or file) must not break the caller.
        with suppress(Exception):
            self._proxy_to_logger(method, event, **values)

    debug = partialmethod(_log, "debug")
    info = partialmethod(_log, "info")
    warning = partialmethod(_log, "warning")
    error = partialmethod(_log, "error")
    exception = partialmethod(_log, "error", exc_info=True)


def shows_debug() -> bool:
    """Whether lines of the level `debug` are written. It costs less than a line that is not."""
    return _Logger.threshold <= logging.DEBUG


_log_context: ContextVar[dict[str, Any] | None] = ContextVar("log_context", default=None)


def bind_log_context(**values: Any) -> dict[str, Any]:
    """Add these values to every log line of this task and the tasks it starts, and what is added to the
    dictionary later.
    """
    _log_context.set(values)
    return values


def _merge_log_context(
    logger: Any, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return event if (context := _log_context.get()) is None else {**context, **event}


def _add_code(logger: Any, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {**event, "code": code_of(str(event["event"]))}


def _escape_values(logger: Any, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape control characters in values: a session's id or an upstream's error could steer the terminal."""
    return {
        name: escape_control_characters(value) if isinstance(value, str) else value
        for name, value in event.items()
    }


_mask: Callable[[str], str] = Redactor("redact").mask_name


def mask_log_lines(mask: Callable[[str], str]) -> None:
    """Mask every line by this function: with the configuration's secrets, besides those with a shape."""
    global _mask  # noqa: PLW0603
    _mask = mask


def _mask_line(logger: Any, method: str, line: Any) -> str:
    """The last step: a line is masked as it is written, with names, values and tracebacks."""
    return _mask(str(line))


def set_level(level: str) -> None:
    _Logger.threshold = _LEVELS[level]


def configure(settings: Logging) -> None:
    set_level(settings.level)
    _Logger.repeats = RepeatFilter(settings.repeat_after)
    atexit.unregister(log_all_left_out)
    atexit.register(log_all_left_out)
    # Started with 2>&- there is no stderr.
    stream = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if settings.format == "json"
        else [
            structlog.dev.ConsoleRenderer(
                colors=stream.isatty(),
                # The default formatter shows local variables: headers, keys, texts.
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _merge_log_context,
            _add_code,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _escape_values,
            *renderers,
            _mask_line,
        ],
        wrapper_class=_Logger,
        # Write whole lines at once: several processes may share the stream.
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )


def log_all_left_out() -> None:
    """At the end of the process, also of counts whose time isn't over."""
    logger = structlog.get_logger("crosswind.log").bind()
    if isinstance(logger, _Logger):
        logger.log_left_out(every=True)
