"""Structured logs: one event name in words, ids beside it, never text of a conversation."""

from __future__ import annotations

import logging
import sys
import traceback
from enum import StrEnum

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from precompact_shared.errors import PrecompactError


class LogFormat(StrEnum):
    """How a log line looks."""

    JSON = "json"
    """One object a line, for machines."""
    CONSOLE = "console"
    """Aligned and coloured, for a terminal."""


def configure_logging(
    *, process: str, level: str = "INFO", log_format: LogFormat = LogFormat.CONSOLE
) -> None:
    """Sends this process's logs, and warnings of its libraries, to stderr with the process's name on every line."""
    chain: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _naming(process),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        describe_exception,
    ]
    renderer = _renderer(log_format)
    numeric = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[*chain, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=chain,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            keep_exc_info=False,
        )
    )
    logging.basicConfig(handlers=[handler], level=max(numeric, logging.WARNING), force=True)


def get_logger() -> FilteringBoundLogger:
    """A logger whose methods take an event name and ids: `log.info("job stored", session=…, version=…)`."""
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger


def describe_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replaces `exc_info` by type and places. Foreign messages may quote what users wrote, so only ours are kept."""
    found = event.pop("exc_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if not isinstance(error, BaseException):
        return event
    event["error_type"] = type(error).__name__
    if isinstance(error, PrecompactError):
        event["error"] = str(error)
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    event["at"] = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return event


def _naming(process: str) -> Processor:
    def name_process(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return name_process


def _renderer(log_format: LogFormat) -> Processor:
    if log_format is LogFormat.JSON:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
