"""Clearing: whatever the rule, a history stays valid, keeps what is protected, and saves what the plan says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.catalogue import SHIPPED, Tool, ToolKind
from precompact_shared.engine.clearing import (
    Clearing,
    ClearingRule,
    ClearMode,
    Idle,
    KindRule,
    NothingToClear,
    is_cleared,
    plan_clearing,
    tool_results,
    tool_shares,
    unknown_tools,
)
from precompact_shared.engine.edits import apply_context, edit_from_json, edit_to_json
from precompact_shared.engine.formats import facts
from precompact_shared.engine.pairing import pair
from precompact_shared.engine.projection import context_edits, merge_edits
from precompact_shared.engine.shorten import Ends, Unit
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Edit, Entry, Format, Message
from precompact_shared.engine.validate import validate
from tests.support.clearing_rules import OURS, SYSTEMS
from tests.support.histories import any_history
from tests.support.recordings import Recording, needs_recordings, recordings

CLEAR_ALL = ClearingRule()
BIG = "word " * 2_000

rules = st.builds(
    ClearingRule,
    mode=st.sampled_from(ClearMode),
    ends=st.builds(Ends, st.sampled_from(Unit), st.integers(0, 20), st.integers(0, 20), st.integers(0, 60)),
    kinds=st.lists(
        st.builds(
            KindRule,
            st.sampled_from(ToolKind),
            st.sampled_from(ClearMode),
            st.builds(Ends, st.sampled_from(Unit), st.integers(0, 9), st.integers(0, 9)),
        ),
        max_size=2,
    ).map(tuple),
    clearable=st.one_of(
        st.just(()), st.lists(st.sampled_from(ToolKind), min_size=1, max_size=4, unique=True).map(tuple)
    ),
    protected=st.sampled_from(((), ("read",), ("Ba*", "x"), ("*",))),
    exempt_user_turns=st.integers(0, 3),
    exempt_tool_turns=st.integers(0, 3),
    keep_recent_tokens=st.integers(0, 400),
    keep_recent=st.integers(0, 4),
    protect_tokens=st.sampled_from((0, 0, 10, 200, 1_000)),
    min_saving_tokens=st.sampled_from((0, 0, 50, 500)),
    stops_at_cleared=st.booleans(),
)


def counted(wire: Format, messages: Sequence[Message]) -> list[Entry]:
    """Entries with the tokens the service would give them."""
    return [Entry(seq, one, count_message(wire, one, None)) for seq, one in enumerate(messages)]


def tokens_of(wire: Format, messages: Sequence[Message]) -> int:
    """The estimate of a whole list."""
    return sum(count_message(wire, one, None) for one in messages)


@given(any_history(open_end=True), rules)
def test_any_rule_leaves_any_history_valid_and_saves_what_it_says(
    history: tuple[Format, list[Message]], rule: ClearingRule
) -> None:
    """Pairs stay pairs, the provider takes the list, history itself is untouched."""
    wire, messages = history
    before = json.dumps(messages)
    plan = plan_clearing(wire, counted(wire, messages), rule)
    if isinstance(plan, NothingToClear):
        return
    context = apply_context(messages, (), 0, plan.edits)
    assert validate(wire, context, open_end_ok=True) == validate(wire, messages, open_end_ok=True) == ()
    assert pair(wire, counted(wire, context)).owner == pair(wire, counted(wire, messages)).owner
    assert tokens_of(wire, messages) - tokens_of(wire, context) == plan.saving_tokens
    assert plan.saving_tokens >= max(1, rule.min_saving_tokens)
    assert json.dumps(messages) == before
    assert plan == plan_clearing(wire, counted(wire, messages), rule)
    assert [edit_from_json(edit_to_json(edit)) for edit in plan.edits] == list(plan.edits)
    assert 0 < plan.through <= len(messages)


@given(any_history(), rules)
def test_what_is_cleared_is_not_cleared_twice(
    history: tuple[Format, list[Message]], rule: ClearingRule
) -> None:
    """Neither by the edits that stand nor by what an edited list says."""
    wire, messages = history
    plan = plan_clearing(wire, counted(wire, messages), rule)
    if isinstance(plan, Clearing):
        again = plan_clearing(wire, counted(wire, messages), rule, held=plan.edits)
        assert isinstance(again, NothingToClear)
        context = apply_context(messages, (), 0, plan.edits)
        touched = {(edit.seq, edit.part) for edit in plan.edits}
        later = plan_clearing(wire, counted(wire, context), rule)
        assert not isinstance(later, Clearing) or not touched & {(e.seq, e.part) for e in later.edits}


@given(any_history(open_end=True), rules, st.data())
def test_protected_and_recent_results_are_never_touched(
    history: tuple[Format, list[Message]], rule: ClearingRule, data: st.DataObject
) -> None:
    """By kind, by name, by pin, by count, by turns, by tokens."""
    wire, messages = history
    pins = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=2))
    entries = [replace(entry, pinned=entry.seq in pins) for entry in counted(wire, messages)]
    plan = plan_clearing(wire, entries, rule)
    touched = {(edit.seq, edit.part) for edit in plan.edits} if isinstance(plan, Clearing) else set()
    for found in tool_results(wire, entries):
        if found.place not in touched:
            continue
        assert found.entry.seq not in pins
        assert not found.tool.protect
        assert not rule.clearable or found.tool.kind in rule.clearable
        assert "*" not in rule.protected
        assert found.call.name not in {"read": "Read", "Ba*": "Bash"}.get("".join(rule.protected[:1]), "")
        assert found.user_turns_behind >= rule.exempt_user_turns
        assert found.tool_turns_behind >= rule.exempt_tool_turns
        assert found.tokens_behind >= rule.keep_recent_tokens
    newest = [found.place for found in tool_results(wire, entries)][::-1]
    if not rule.clearable and not rule.protected and not pins:
        assert not touched & set(newest[: rule.keep_recent])


@given(any_history(), rules)
def test_clearing_behind_a_summary_is_as_valid(
    history: tuple[Format, list[Message]], rule: ClearingRule
) -> None:
    """Merged with what a kept tail needs anyway: thinking goes, nothing clashes."""
    wire, messages = history
    entries = counted(wire, messages)
    plan = plan_clearing(wire, entries, rule)
    edits = plan.edits if isinstance(plan, Clearing) else ()
    merged = merge_edits(entries, edits, context_edits(wire, entries))
    assert validate(wire, apply_context(messages, (), 0, merged), open_end_ok=True) == ()


@given(any_history(), rules)
def test_collapsed_text_is_cut_between_graphemes(
    history: tuple[Format, list[Message]], rule: ClearingRule
) -> None:
    """Families and flags survive as wholes or go as wholes."""
    wire, messages = history
    entries = counted(wire, messages)
    plan = plan_clearing(wire, entries, replace(rule, mode=ClearMode.COLLAPSE, kinds=()))
    if not isinstance(plan, Clearing):
        return
    texts = {
        found.place: _text(wire, found.entry.message, found.result.part)
        for found in tool_results(wire, entries)
    }
    for edit in plan.edits:
        before = texts[edit.seq, edit.part]
        after = str(edit.value.get("output", edit.value.get("content")))
        head, _, tail = after.partition("[…")
        tail = tail.partition("…]\n")[2]
        whole = regex.findall(r"\X", before)
        opening, ending = regex.findall(r"\X", head.rstrip("\n")), regex.findall(r"\X", tail)
        assert "".join(whole[: len(opening)]) == head.rstrip("\n")
        assert whole[len(whole) - len(ending) :] == ending
        assert f"[r:{edit.seq}]" in after


def _text(wire: Format, message: Message, part: int | None) -> str:
    if part is not None:
        return str(message["content"][part]["content"])
    return str(message.get("output", message.get("content")))


# --------------------------------------------------------------------------------------------------------- by hand


def called(name: str = "Read", ids: Sequence[str] = ("a",)) -> Message:
    """An Anthropic reply with calls."""
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": name, "input": {}} for i in ids],
    }


def answered(content: Any, ids: Sequence[str] = ("a",), **more: Any) -> Message:
    """The Anthropic results, all with this content."""
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": i, "content": content, **more} for i in ids],
    }


ASK: Message = {"role": "user", "content": "go on"}


def plan_of(messages: Sequence[Message], rule: ClearingRule = CLEAR_ALL, **more: Any) -> Clearing:
    """The plan, which must be one."""
    plan = plan_clearing(Format.ANTHROPIC, counted(Format.ANTHROPIC, messages), rule, **more)
    assert isinstance(plan, Clearing)
    return plan


def test_the_placeholder_names_tool_and_address() -> None:
    """`recall` reads what stands there; a tool that can be called again says so."""
    (edit,) = plan_of([ASK, called(), answered(BIG)]).edits
    assert (edit.seq, edit.part) == (2, 0)
    note = edit.value["content"]
    assert note == "[Result of Read cleared to save room: [r:2] has it whole, or call it again]"
    assert is_cleared(note)
    (edit,) = plan_of([ASK, called("Bash"), answered(BIG)]).edits
    assert edit.value["content"] == "[Result of Bash cleared to save room: [r:2] has it whole]"
    (edit,) = plan_of([ASK, called("evil]\nname"), answered(BIG)]).edits
    assert edit.value["content"].startswith("[Result of a tool cleared")
    assert is_cleared(edit.value["content"])


def test_what_belongs_to_the_result_stays_with_it() -> None:
    """Id, error mark and cache mark; pictures go with a cleared one and stay with a collapsed one."""
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": BIG}, picture]
    mark = {"type": "ephemeral"}
    messages = [ASK, called(), answered(content, is_error=True, cache_control=mark)]
    (edit,) = plan_of(messages).edits
    assert {**edit.value, "content": ""} == {**messages[2]["content"][0], "content": ""}
    assert isinstance(edit.value["content"], str)
    collapse = ClearingRule(mode=ClearMode.COLLAPSE, ends=Ends(Unit.CHARACTERS, 10, 10))
    (edit,) = plan_of(messages, collapse).edits
    assert edit.value["content"][1] == picture
    assert "[r:2]" in edit.value["content"][0]["text"]


def test_tools_that_were_found_stay_callable() -> None:
    """A result with tool references is what makes these tools callable; results of the provider's own tools are whole."""
    found = [{"type": "text", "text": BIG}, {"type": "tool_reference", "tool_name": "lookup"}]
    plan = plan_clearing(
        Format.ANTHROPIC, counted(Format.ANTHROPIC, [ASK, called("any_search"), answered(found)]), CLEAR_ALL
    )
    assert plan == NothingToClear(Idle.NO_RESULTS)
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "text", "text": BIG}],
    }
    served: list[Message] = [ASK, {"role": "assistant", "content": [use, result]}]
    assert not isinstance(
        plan_clearing(Format.ANTHROPIC, counted(Format.ANTHROPIC, served), CLEAR_ALL), Clearing
    )


@pytest.mark.parametrize(
    ("call", "output", "key"),
    [
        (
            {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
            {"output": BIG},
            "output",
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
            {"output": [{"type": "input_text", "text": BIG}]},
            "output",
        ),
        ({"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "y"}, {"output": BIG}, "output"),
        ({"type": "local_shell_call", "call_id": "c", "action": {}}, {"output": BIG}, "output"),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {}}, {"output": BIG}, "output"),
        ({"type": "program", "call_id": "c", "code": "1"}, {"result": BIG}, "result"),
    ],
)
def test_outputs_of_responses_are_edited_as_whole_items(
    call: Message, output: dict[str, Any], key: str
) -> None:
    """Type, call id and whatever else the item holds stay."""
    kind = "program_output" if call["type"] == "program" else f"{call['type']}_output"
    item = {"type": kind, "call_id": "c", "status": "completed", **output}
    wire = Format.OPENAI_RESPONSES
    plan = plan_clearing(wire, counted(wire, [{"role": "user", "content": "go"}, call, item]), CLEAR_ALL)
    assert isinstance(plan, Clearing)
    (edit,) = plan.edits
    assert edit.part is None
    assert {**edit.value, key: ""} == {**item, key: ""}
    assert "[r:2]" in edit.value[key]


def test_a_shell_output_keeps_its_shape_and_exit_codes() -> None:
    """The item is a list of what each command printed."""
    outputs = [
        {"stdout": BIG, "stderr": BIG, "outcome": {"type": "exit", "exit_code": code}} for code in (0, 1)
    ]
    call = {"type": "shell_call", "call_id": "c", "action": {"commands": ["a", "b"]}}
    item = {"type": "shell_call_output", "call_id": "c", "output": outputs}
    wire = Format.OPENAI_RESPONSES
    plan = plan_clearing(wire, counted(wire, [{"role": "user", "content": "go"}, call, item]), CLEAR_ALL)
    assert isinstance(plan, Clearing)
    after = plan.edits[0].value["output"]
    assert [one["outcome"] for one in after] == [one["outcome"] for one in outputs]
    assert "[r:2]" in after[0]["stdout"]
    assert after[0]["stderr"] == after[1]["stdout"] == after[1]["stderr"] == ""


@pytest.mark.parametrize(
    ("call", "item"),
    [
        (
            {"type": "computer_call", "call_id": "c", "action": {}},
            {
                "type": "computer_call_output",
                "output": {"type": "computer_screenshot", "image_url": "x" * 5_000},
            },
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "arguments": {}},
            {"type": "tool_search_output", "tools": [{"name": BIG}]},
        ),
    ],
)
def test_outputs_that_are_no_text_stay(call: Message, item: Message) -> None:
    """A screenshot can only be a picture, found tools can only be tools."""
    wire = Format.OPENAI_RESPONSES
    entries = counted(wire, [{"role": "user", "content": "go"}, call, {**item, "call_id": "c"}])
    assert plan_clearing(wire, entries, CLEAR_ALL) == NothingToClear(Idle.NO_RESULTS)


def test_a_part_is_priced_by_its_share_of_the_entry() -> None:
    """Three parallel results in one message, one of them large."""
    message = answered(BIG, ("a",))
    message["content"] += [*answered("ok", ("b",))["content"], *answered(BIG, ("c",))["content"]]
    found = tool_results(Format.ANTHROPIC, counted(Format.ANTHROPIC, [ASK, called(ids="abc"), message]))
    assert [one.result.id for one in found] == ["a", "b", "c"]
    assert found[0].tokens == found[2].tokens > 1_000
    assert found[1].tokens < 10
    assert [one.tool_turns_behind for one in found] == [0, 0, 0]


def test_parallel_results_of_one_message_are_cleared_one_by_one() -> None:
    """Keep-recent counts results, not messages; a later run clears the next and prices it on what stands."""
    messages = [ASK, called(ids="abc"), answered(BIG, "abc")]
    first = plan_of(messages, replace(CLEAR_ALL, keep_recent=2))
    assert [(edit.seq, edit.part) for edit in first.edits] == [(2, 0)]
    later = [*messages, called(ids="d"), answered("ok", "d")]
    second = plan_of(later, replace(CLEAR_ALL, keep_recent=2), held=first.edits)
    assert [(edit.seq, edit.part) for edit in second.edits] == [(2, 1)]
    both = apply_context(later, (), 0, [*first.edits, *second.edits])
    saved = tokens_of(Format.ANTHROPIC, later) - tokens_of(Format.ANTHROPIC, both)
    assert saved == first.saving_tokens + second.saving_tokens


def test_the_catalogue_may_keep_the_newest_of_a_tool() -> None:
    """The newest look at a page stays, whatever the rule says; a tenant's row may protect a tool altogether."""
    name = "browser_snapshot"
    messages = [ASK, called(name, "a"), answered(BIG, "a"), called(name, "b"), answered(BIG, "b")]
    assert [edit.seq for edit in plan_of(messages).edits] == [2]
    own = SHIPPED.extended({name: Tool(ToolKind.READ, protect=True)})
    entries = counted(Format.ANTHROPIC, messages)
    assert plan_clearing(Format.ANTHROPIC, entries, CLEAR_ALL, catalogue=own) == NothingToClear(
        Idle.NO_RESULTS
    )


def test_a_shell_of_few_long_lines_is_cut_by_the_general_ends() -> None:
    """Ten lines of a megabyte each are no short output."""
    rule = ClearingRule(
        mode=ClearMode.COLLAPSE,
        ends=Ends(Unit.CHARACTERS, 250, 250),
        kinds=(KindRule(ToolKind.SHELL, ClearMode.COLLAPSE, Ends(Unit.LINES, 10, 10)),),
    )
    (edit,) = plan_of([ASK, called("Bash"), answered(BIG)], rule).edits
    assert edit.value["content"].startswith(BIG[:250] + "\n[…")


@pytest.mark.parametrize(
    ("messages", "rule", "reason"),
    [
        ([ASK], CLEAR_ALL, Idle.NO_RESULTS),
        ([], CLEAR_ALL, Idle.NO_RESULTS),
        ([ASK, called()], CLEAR_ALL, Idle.NO_RESULTS),
        ([ASK, called("Skill"), answered(BIG)], CLEAR_ALL, Idle.NO_RESULTS),
        ([ASK, called(), answered(BIG)], ClearingRule(keep_recent=1), Idle.ALL_RECENT),
        ([ASK, called(), answered("ok")], CLEAR_ALL, Idle.SAVING_TOO_SMALL),
        ([ASK, called(), answered(BIG)], ClearingRule(min_saving_tokens=9_000), Idle.SAVING_TOO_SMALL),
        ([answered(BIG), ASK], CLEAR_ALL, Idle.NO_RESULTS),
    ],
)
def test_nothing_to_clear_has_a_reason(messages: list[Message], rule: ClearingRule, reason: Idle) -> None:
    """A skip with a name; a result whose call is not among the entries is not ours to judge."""
    plan = plan_clearing(Format.ANTHROPIC, counted(Format.ANTHROPIC, messages), rule)
    assert isinstance(plan, NothingToClear)
    assert plan.reason is reason


def test_a_pinned_result_stays() -> None:
    """What is never covered is never cleared."""
    messages = [ASK, called(ids="a"), answered(BIG, "a"), called(ids="b"), answered(BIG, "b")]
    entries = [replace(one, pinned=one.seq == 2) for one in counted(Format.ANTHROPIC, messages)]
    plan = plan_clearing(Format.ANTHROPIC, entries, CLEAR_ALL)
    assert isinstance(plan, Clearing)
    assert [edit.seq for edit in plan.edits] == [4]


def test_a_tool_turn_is_a_reply_with_all_its_results() -> None:
    """Parallel calls, and results in messages of their own, are one turn."""
    split = [answered(BIG, "a"), answered(BIG, "b")]
    messages = [ASK, called(ids="ab"), *split, called(ids="c"), answered(BIG, "c")]
    found = tool_results(Format.ANTHROPIC, counted(Format.ANTHROPIC, messages))
    assert [one.tool_turns_behind for one in found] == [1, 1, 0]
    rule = ClearingRule(exempt_tool_turns=1)
    assert [edit.seq for edit in plan_of(messages, rule).edits] == [2, 3]


def test_unknown_tools_are_listed_with_their_share() -> None:
    """What a policy might describe, largest first."""
    messages = [ASK, called("crm_lookup", "a"), answered(BIG, "a"), called("Read", "b"), answered(BIG, "b")]
    entries = counted(Format.ANTHROPIC, messages)
    shares = tool_shares(Format.ANTHROPIC, entries)
    assert set(shares) == {"Read", "crm_lookup"}
    assert sum(shares.values()) < 1
    unknown = unknown_tools(Format.ANTHROPIC, entries)
    assert list(unknown) == ["crm_lookup"]
    assert 0.4 < unknown["crm_lookup"] < 0.6
    known = SHIPPED.extended({"crm_*": Tool(ToolKind.SEARCH)})
    assert unknown_tools(Format.ANTHROPIC, entries, known) == {}
    assert unknown_tools(Format.ANTHROPIC, []) == {}


# ------------------------------------------------------------------------------------------------------ recordings


@needs_recordings()
@pytest.mark.recordings
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: one.name)
def test_recorded_sessions_stay_as_valid_as_they_were(recording: Recording) -> None:
    """Every rule of every system over every recording: no new complaint, the saving as told, pairs intact."""
    told = recording.load()
    wire, messages = Format(told["format"]), told["messages"]
    entries = [Entry(seq, one, count_message(wire, one, told["model"])) for seq, one in enumerate(messages)]
    complaints = validate(wire, messages)
    for name, rule in SYSTEMS.items():
        plan = plan_clearing(wire, entries, rule, model=told["model"])
        if not isinstance(plan, Clearing):
            continue
        context = apply_context(messages, (), 0, plan.edits)
        assert validate(wire, context) == complaints, name
        edited = {edit.seq for edit in plan.edits}
        after = sum(count_message(wire, context[seq], told["model"]) for seq in edited)
        assert sum(entries[seq].tokens for seq in edited) - after == plan.saving_tokens, name
        assert [facts(wire, context[seq]).results for seq in edited] == [
            facts(wire, messages[seq]).results for seq in edited
        ]


@needs_recordings()
@pytest.mark.recordings
def test_what_the_last_run_cleared_is_a_prefix_of_what_the_next_may() -> None:
    """A session that grows by halves: nothing is cleared twice, and nothing that was cleared comes back."""
    for recording in recordings()[::7]:
        told = recording.load()
        wire, messages = Format(told["format"]), told["messages"]
        entries = [Entry(seq, one, count_message(wire, one, None)) for seq, one in enumerate(messages)]
        rule = replace(OURS, min_saving_tokens=0, protect_tokens=2_000)
        held: list[Edit] = []
        for length in (len(entries) // 2, len(entries) * 3 // 4, len(entries)):
            plan = plan_clearing(wire, entries[:length], rule, held=held)
            if isinstance(plan, Clearing):
                assert not {(e.seq, e.part) for e in plan.edits} & {(e.seq, e.part) for e in held}
                held += plan.edits
        assert validate(wire, apply_context(messages, (), 0, held)) == validate(wire, messages)
