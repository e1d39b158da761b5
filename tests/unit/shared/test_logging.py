"""Log lines carry the process and ids, never what a user wrote."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from precompact_shared.errors import Permanent
from precompact_shared.logging import LogFormat, configure_logging, get_logger

SECRET = "the user's own words"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Other tests keep their handlers."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_is_one_object_with_process_event_and_ids(capsys: pytest.CaptureFixture[str]) -> None:
    """Machines read it."""
    configure_logging(process="worker", log_format=LogFormat.JSON)
    get_logger().info("job stored", session="s1", version=4)
    (line,) = _lines(capsys)
    assert (line["process"], line["event"], line["session"], line["version"]) == (
        "worker",
        "job stored",
        "s1",
        4,
    )


def test_a_foreign_exception_is_logged_by_type_and_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    """A validation error of a library quotes its input; the log does not."""
    configure_logging(process="api", log_format=LogFormat.JSON)
    try:
        raise ValueError(SECRET)
    except ValueError:
        get_logger().exception("request failed", session="s1")
        logging.getLogger("library").exception("library failed")
    ours, theirs = _lines(capsys)
    assert ours["error_type"] == theirs["error_type"] == "ValueError"
    assert "test_a_foreign_exception" in str(ours["at"])
    assert SECRET not in json.dumps([ours, theirs])


def test_our_own_exception_is_logged_with_its_message_and_facts(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours never hold text of a conversation, so they may be read."""
    configure_logging(process="api", log_format=LogFormat.JSON)
    try:
        raise Permanent("No such job.", job="j1")
    except Permanent:
        get_logger().exception("request failed")
    (line,) = _lines(capsys)
    assert line["error"] == "No such job. (job=j1)"


def test_levels_below_the_least_are_silent_and_the_console_is_readable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """People read it."""
    configure_logging(process="scheduler", level="WARNING")
    get_logger().info("unheard")
    get_logger().warning("heard", shard="s03")
    told = capsys.readouterr().err
    assert "unheard" not in told
    assert "heard" in told
    assert "shard=s03" in told
