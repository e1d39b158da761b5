"""Logs as their tools wrote them agree with what was converted from them by other means."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from precompact_cli.logs.events import Called, Happened, Stamp
from precompact_cli.logs.opening import recognise_log
from precompact_cli.logs.session import Session, View
from precompact_shared.engine.formats import facts
from precompact_shared.engine.identity import canonical
from precompact_shared.engine.types import Format
from tests.support.recordings import Log, data_dir, logs, needs_recordings
from tests.unit.cli.logs.reading import read

pytestmark = [pytest.mark.recordings, needs_recordings()]

LOGS = pytest.mark.parametrize("log", logs(), ids=lambda log: f"{log.tool}-{log.name}")
BRANCHED = {"cli-branch": (61, 5)}
"""The twin lists the branch that was left too: where, and how many messages."""
UNCOUNTED = {"agentv-abort-two-models": 1, "sync-compacted-b": 1}
"""Replies broken off without a count: the twin gives them to the next call, whose prompt held them already."""


TASK = "[subtask]"


def keys(wire: Format, messages: Sequence[Any]) -> list[bytes]:
    """Canonical entries; of a task that OpenCode shows and does not send, the twin alone has the text."""
    return [canonical(wire, {**one, "content": TASK} if is_task(one) else one) for one in messages]


def is_task(message: dict[str, Any]) -> bool:
    """Whether it is one."""
    return str(message.get("content")).startswith(TASK)


def figures(calls: Sequence[Called]) -> list[tuple[Any, ...]]:
    """What is compared of calls."""
    return [
        (one.prefix, list(one.produced), one.total_input, one.cache_read, one.output, one.reasoning)
        for one in calls
    ]


def recorded(twin: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The same of a twin."""
    return [
        (
            one["prefix"],
            one["produced"],
            one["total_input"],
            one["cache_read"],
            one["output"],
            one.get("reasoning"),
        )
        for one in twin["usage"]
    ]


def view_of(session: Session, twin: dict[str, Any]) -> View:
    """The view that a twin shows."""
    match twin["view"]:
        case "pre-compaction":
            return session.before()
        case "post-compaction":
            return session.after()
        case "full":
            return session.history()
    first = canonical(session.format, twin["messages"][0])
    return next(
        one.history() for one in session.sidechains if canonical(one.format, one.messages[0]) == first
    )


def without_branch(log: Log, items: list[Any]) -> list[Any]:
    """A twin's list without the branch that was left."""
    at, count = BRANCHED.get(log.name, (0, 0))
    return items[:at] + items[at + count :]


@LOGS
def test_a_log_is_recognised_by_its_own_reader(log: Log) -> None:
    """By content alone: the file's name is not known to the reader."""
    reader = recognise_log(io.BytesIO(log.raw()))
    assert reader is not None
    assert reader.tool == log.tool


@LOGS
def test_messages_are_those_of_the_twin_one_by_one(log: Log) -> None:
    """Canonical entries, times, model, system text; nothing is damaged."""
    session = read(log.raw())
    assert not session.damaged
    assert log.twins()
    for recording in log.twins():
        twin = recording.load()
        view = view_of(session, twin)
        assert session.format == twin["format"]
        assert keys(session.format, view.messages) == without_branch(
            log, keys(session.format, twin["messages"])
        )
        expected: list[Stamp] = without_branch(log, twin["timestamps"])
        assert list(view.stamps) == expected
        assert session.model == twin["model"]
        assert session.system == twin["system"]


@LOGS
def test_recorded_usage_is_that_of_the_twin(log: Log) -> None:
    """Prefix, what was produced, and every size; all but the calls that the twin places elsewhere."""
    session = read(log.raw())
    for recording in log.twins():
        twin = recording.load()
        found, expected = figures(view_of(session, twin).calls), recorded(twin)
        if log.name in BRANCHED:
            at, _ = BRANCHED[log.name]
            assert found[: len([one for one in expected if one[0] < at])] == [
                one for one in expected if one[0] < at
            ]
            assert [one[2:] for one in found] == [one[2:] for one in expected if one[1] != [at]]
            continue
        apart = [(one, other) for one, other in zip(found, expected, strict=True) if one != other]
        assert len(apart) <= UNCOUNTED.get(log.name, 0)
        assert all(one[2:] == other[2:] and set(one[1]) < set(other[1]) for one, other in apart)


@LOGS
def test_calls_and_results_pair_as_in_the_twin(log: Log) -> None:
    """As many of each."""
    session = read(log.raw())
    for recording in log.twins():
        twin = recording.load()
        found, expected = (
            [
                (len(known.calls), len(known.results))
                for known in (facts(session.format, one) for one in messages)
            ]
            for messages in (view_of(session, twin).messages, without_branch(log, twin["messages"]))
        )
        assert found == expected


@LOGS
def test_boundaries_are_there_where_the_twin_has_two_views(log: Log) -> None:
    """And the prompt recorded before the first is what the tool says, or near it."""
    session = read(log.raw())
    views = {recording.load()["view"] for recording in log.twins()}
    assert bool(session.boundaries) == ("post-compaction" in views)
    for boundary in session.boundaries:
        assert 0 <= boundary.kept_from <= boundary.at <= len(session.messages)
        assert boundary.insert
    told = session.boundaries[0].tokens_before if session.boundaries else None
    if told is not None:
        assert session.before().calls[-1].total_input == pytest.approx(told, rel=0.02)


def test_every_log_that_is_listed_is_compared_and_has_a_twin() -> None:
    """None is left out without anybody noticing."""
    root = data_dir()
    assert root is not None
    rows = json.loads((root / "logs" / "manifest.json").read_text(encoding="utf-8"))
    assert {row["file"] for row in rows} == {f"logs/{log.tool}/{log.path.name}" for log in logs()}
    assert all(log.twins() for log in logs())


def test_what_is_peculiar_to_some_logs_is_told() -> None:
    """Branch points, sub-agents, interrupted and queued turns, results the tool took out."""
    told = {log.name: read(log.raw()) for log in logs()}
    assert [(one.at, one.messages) for one in told["cli-branch"].branches] == [BRANCHED["cli-branch"]]
    assert [len(one.messages) for one in told["viewer-sidechain-large"].sidechains] == [18, 68, 80, 50, 106]
    assert [len(told[name].boundaries) for name in ("agentv-compacted-twice", "before-compaction")] == [2, 2]
    interrupted = {name: one.counts.get(Happened.INTERRUPTED, 0) for name, one in told.items()}
    assert interrupted["cli-dangling-orphan"] == 4
    assert interrupted["cli-interrupt-twice"] == 2
    assert interrupted["sync-aborted"] == 1
    assert interrupted["before-compaction"] == 18
    assert told["cli-branch"].counts[Happened.QUEUED] == 1
    assert told["nimbus-multi-turn"].counts[Happened.CLEARED] == 39
