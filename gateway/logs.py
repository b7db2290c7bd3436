"""Logs to stderr, for people or as JSON. Credentials can't get there: nothing logs headers or bodies."""

from __future__ import annotations

import logging
import sys

import structlog

from gateway.configuration.sections import Logging


def configure(settings: Logging) -> None:
    """Set up structured logs for the whole process."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    formatting: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info] if settings.format == "json" else []
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *formatting,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
