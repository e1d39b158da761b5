"""The store ties calls to results as it appends, the engine over a whole list: both must say the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompact_shared.engine.formats import facts as facts_of
from precompact_shared.engine.pairing import MOST_OPEN, pair_facts
from precompact_shared.engine.types import Facts, Format, Role
from precompact_shared.engine.versions.links import Links, links_of
from precompact_shared.engine.versions.values import Entry
from tests.support.histories import histories
from tests.support.recordings import Recording, needs_recordings, recordings

ROLES = {Role.SYSTEM: "s", Role.USER: "u", Role.ASSISTANT: "a", Role.TOOL: "t", Role.OTHER: "o"}


def as_the_store(wire: Format, facts: Sequence[Facts]) -> Links:
    """What the store's rule makes of it; the twin's is compared with the scripts' in every random history."""
    return links_of(wire.value, [_entry(fact) for fact in facts])


def as_the_engine(wire: Format, facts: Sequence[Facts]) -> Links:
    """The same facts through the engine."""
    found = pair_facts(wire, facts)
    return Links(
        tuple((seq, f"{call.kind}:{call.id}") for seq, call in found.open),
        tuple((seq, f"{call.kind}:{call.id}") for seq, call in found.dead),
        tuple((seq, -1 if result.part is None else result.part) for seq, result in found.orphans),
    )


def same(wire: Format, facts: Sequence[Facts]) -> None:
    """Open, dead and orphans are equal; the order in which they were found does not matter."""
    store, engine = as_the_store(wire, facts), as_the_engine(wire, facts)
    assert sorted(store.open) == sorted(engine.open)
    assert sorted(store.dead) == sorted(engine.dead)
    assert sorted(store.orphans) == sorted(engine.orphans)


def _entry(fact: Facts) -> Entry:
    return Entry(
        digest="",
        tokens=1,
        role=ROLES[fact.role],
        calls=tuple(f"{call.kind}:{call.id}" for call in fact.calls if call.kind != "server"),
        results=tuple(
            (f"{result.kind}:{result.id}", -1 if result.part is None else result.part)
            for result in fact.results
            if result.kind != "server"
        ),
    )


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
def test_store_and_engine_pair_a_recording_alike_wherever_it_stops(recording: Recording) -> None:
    """At up to twelve places of each recorded session."""
    content = recording.load()
    wire = Format(content["format"])
    facts = [facts_of(wire, message) for message in content["messages"]]
    for stop in range(len(facts), 0, -max(1, len(facts) // 12)):
        same(wire, facts[:stop])


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), wire=st.sampled_from(list(Format)))
def test_store_and_engine_pair_generated_histories_alike(data: st.DataObject, wire: Format) -> None:
    """Parallel calls and ids that repeat; cut anywhere."""
    messages = data.draw(histories(wire, open_end=True))
    facts = [facts_of(wire, message) for message in messages]
    same(wire, facts[: data.draw(st.integers(0, len(facts)))])


def test_what_is_open_in_a_responses_session_is_bounded_and_both_agree() -> None:
    """Calls nobody answers, answers that come late or too late: the oldest beyond the bound are given up."""
    wire = Format.OPENAI_RESPONSES
    calls = [_call(number) for number in range(3 * MOST_OPEN)]
    facts = [facts_of(wire, item) for item in calls]
    found = as_the_engine(wire, facts)
    assert [seq for seq, _ in found.open] == list(range(2 * MOST_OPEN, 3 * MOST_OPEN))
    assert [seq for seq, _ in found.dead] == list(range(2 * MOST_OPEN))
    same(wire, facts)
    late = [
        facts_of(wire, {"type": "function_call_output", "call_id": f"c{n}", "output": "x"}) for n in (0, 150)
    ]
    assert [seq for seq, _ in as_the_engine(wire, [*facts, *late]).orphans] == [3 * MOST_OPEN]
    same(wire, [*facts, *late, *facts])


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=100, max_size=260))
def test_store_and_engine_agree_on_many_open_calls(acts: list[tuple[int, bool]]) -> None:
    """Ids repeat; some calls are answered, most are not."""
    wire = Format.OPENAI_RESPONSES
    items = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": "x"}
        if answered and n < 8
        else _call(n)
        for n, answered in acts
    ]
    same(wire, [facts_of(wire, item) for item in items])


def _call(number: int) -> dict[str, str]:
    return {"type": "function_call", "call_id": f"c{number}", "name": "f", "arguments": "{}"}
