"""Logs to stderr, for people or as JSON. Credentials can't get there: nothing logs headers or bodies, and
tracebacks are told without what variables hold.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, ClassVar

import structlog

from crosswind.gateway.config.sections import Logging

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Logger(structlog.BoundLoggerBase):
    """A bound logger whose threshold is the process's, and can change while it is in use."""

    threshold: ClassVar[int] = logging.INFO

    def _say(self, method: str, event: str, values: dict[str, Any]) -> None:
        if _LEVELS[method] >= _Logger.threshold:
            # Nowhere to say it (a full disk, a reader that is gone) must not break what was to be said of.
            with suppress(OSError):
                self._proxy_to_logger(method, event, **values)

    def debug(self, event: str, **values: Any) -> None:
        self._say("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._say("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._say("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._say("error", event, values)

    def exception(self, event: str, **values: Any) -> None:
        self._say("error", event, {"exc_info": True, **values})


_log_context: ContextVar[dict[str, Any] | None] = ContextVar("said", default=None)


def bind_log_context(**values: Any) -> None:
    """Begin to say these with everything that is logged in this task and in those that it starts."""
    _log_context.set(values)


def add_log_context(name: str, value: Any) -> None:
    """Say this too."""
    if (said := _log_context.get()) is not None:
        said[name] = value


def _merge_log_context(
    logger: Any, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return event if (said := _log_context.get()) is None else {**said, **event}


def set_level(level: str) -> None:
    """From now on, log what is at least of this level."""
    _Logger.threshold = _LEVELS[level]


def configure(settings: Logging) -> None:
    """Set up structured logs for the whole process."""
    set_level(settings.level)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            # The default one shows what local variables hold: headers, keys, texts.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    formatting: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info] if settings.format == "json" else []
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _merge_log_context,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *formatting,
            renderer,
        ],
        wrapper_class=_Logger,
        # A line at once, its end too: several processes may write to one stream.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
