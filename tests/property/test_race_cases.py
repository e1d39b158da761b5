"""The races of public bug reports (`race-*` of the cases), at the store: nothing late, lost, doubled or overwritten."""

from __future__ import annotations

from typing import Any

import pytest

from precompact_shared.store.ops import Create
from precompact_shared.store.types import NewEntry, Seen
from tests.property.making import candidate_tag, made_entry
from tests.property.stage import Stage
from tests.support.recordings import cases, needs_recordings

pytestmark = [pytest.mark.recordings, needs_recordings("race-* cases")]
ROLES = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}


def told(stage: Stage, name: str) -> list[NewEntry]:
    """Puts the case's messages into the session, as one caller sends them, and returns them."""
    case: dict[str, Any] = cases(name)[0].load()
    new = [
        made_entry(
            f"{message['content']}", ROLES[message["role"]], tokens=max(1, len(message["content"]) // 4)
        )
        for message in case["input"]
    ]
    stage.made |= {entry.digest: entry for entry in new}
    assert stage.append(new, seen=Seen(0, 0), create=Create("openai-chat")).o == "ok"
    return new


def test_race_01_an_entry_typed_during_the_summary_is_neither_late_nor_lost(stage: Stage) -> None:
    """Append during the summary call: it waits for nothing and stands in the tail."""
    new = told(stage, "race-01")
    job, cut = stage.begin("j", "due"), len(new) - 3
    stage.say(job, cut)
    assert stage.append([stage.entry("typed meanwhile")], seen=stage.seen).o == "ok"
    assert stage.store_it(job, cut).o == "stored"
    assert stage.take("c-j").o == "adopted"
    tail = stage.texts_held()[stage.view.upto :]
    assert tail == [*(entry.body[1:].decode() for entry in new[cut:]), "typed meanwhile"]


def test_race_03_an_older_attempt_cannot_overwrite_or_clear_a_newer_one(stage: Stage) -> None:
    """Start A; history moves on; start B; B finishes; A finishes."""
    end = len(told(stage, "race-03"))
    a = stage.begin("A", "due")
    stage.say(a, end)
    stage.rewind(end - 2, seen=stage.seen, req="r")
    stage.grow(2)
    b = stage.begin("B", "due")
    stage.say(b, end - 1)
    assert stage.store_it(b, end - 1).o == "stored"
    assert stage.store_it(a, end).o == "lost"
    assert stage.finish("A", a.fence, "dead").o == "lost"
    assert stage.open_ones() == ["c-B"]
    assert stage.take("c-B").o == "adopted"


def test_race_04_five_triggers_while_a_job_runs_make_one_summary(stage: Stage) -> None:
    """Many triggers in one window; the earlier summary is folded in, never stacked."""
    end = len(told(stage, "race-04"))
    stage.take(stage.make("old", end // 2))
    stage.grow(5)
    job = stage.begin("first", "due")
    for n in range(5):
        assert stage.claim(f"again{n}", "due").o == "in_flight"
    stage.say(job, end)
    stage.store_it(job, end)
    stage.take("c-first")
    assert {job.jid for job in stage.facts.jobs} == {"old", "first"}
    assert (stage.view.upto, stage.view.insert_tokens) == (end, 20)  # one insert stands for all of it


@pytest.mark.parametrize("stale", ["append", "whole list", "put", "adopt"])
def test_race_06_a_retry_with_a_stale_snapshot_changes_nothing(stage: Stage, stale: str) -> None:
    """The retry was made from what stood there before."""
    held = told(stage, "race-06")
    end, seen = len(held), stage.seen
    cid = stage.make("a", end - 2)
    job = stage.begin("b", "due")
    stage.say(job, end - 1)
    late = candidate_tag("c-late", end - 1, stage.prefix(end - 1))
    stage.rewind(end - 7, seen=seen, req="r")
    stage.grow(3)
    before = (stage.view.version, stage.view.head)
    match stale:
        case "append":
            answer = stage.append([stage.entry()], seen=seen)
        case "whole list":
            answer = stage.sync([*held, stage.entry()], seen=seen, req="s")
        case "put":
            answer = stage.put("b", job.fence, late, [])
        case _:
            answer = stage.adopt(cid, version=seen.version, length=seen.length)
    assert answer.o in ("rewritten", "lost", "refused")
    assert (stage.view.version, stage.view.head) == before
    assert (stage.view.checkpoint, stage.open_ones()) == (None, [])
