"""What each seed system clears, with its numbers (chapter and number of the facts on seed systems in each line)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from precompact_shared.engine.clearing import (
    Clearing,
    ClearingRule,
    ClearMode,
    Idle,
    NothingToClear,
    plan_clearing,
)
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.shorten import Unit, size_in
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Edit, Entry, Format, Message
from tests.support.clearing_rules import (
    ANTHROPIC_CONTEXT_EDITING,
    CLAUDE_CODE,
    GEMINI_CUT,
    GEMINI_MASKING,
    GEMINI_NEWER,
    GEMINI_STORED,
    OPENCODE_V1,
    PRESETS,
)

CHAT = Format.OPENAI_CHAT
WORD = " of"
"""One token of o200k, alone and repeated."""


def step(name: str, output: str, *, arguments: str = "{}") -> list[Message]:
    """A reply with one call, and its result."""
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": output},
    ]


def turn(*steps: list[Message]) -> list[Message]:
    """A request of the user and what the agent did."""
    return [{"role": "user", "content": "go on"}, *(message for one in steps for message in one)]


def entries_of(messages: Sequence[Message], *, characters_per_token: int | None = None) -> list[Entry]:
    """Entries with counted tokens, or with the tokens a system that counts characters would see."""
    return [Entry(seq, one, _tokens(one, characters_per_token)) for seq, one in enumerate(messages)]


def _tokens(message: Message, characters_per_token: int | None) -> int:
    if characters_per_token is None:
        return count_message(CHAT, message, None)
    return len(message.get("content") or "") // characters_per_token


def cleared(plan: Clearing | NothingToClear) -> list[int]:
    """Which entries are edited."""
    return [edit.seq for edit in plan.edits] if isinstance(plan, Clearing) else []


def planned(messages: Sequence[Message], rule: ClearingRule, *, held: Sequence[Edit] = ()) -> list[int]:
    """Entries the rule clears, with four characters to a token."""
    entries = entries_of(messages, characters_per_token=4)
    return cleared(plan_clearing(CHAT, entries, rule, held=held, measure=lambda one: _tokens(one, 4)))


def text_after(messages: Sequence[Message], rule: ClearingRule, seq: int) -> str:
    """What an entry says once the rule was applied."""
    plan = plan_clearing(CHAT, entries_of(messages), rule)
    edits = plan.edits if isinstance(plan, Clearing) else ()
    content = apply_context(messages, (), 0, edits)[seq]["content"]
    assert isinstance(content, str)
    return content


# --------------------------------------------------------------------------------------------------------- OpenCode


def test_opencode_prunes_an_old_output_and_never_a_skill() -> None:
    """Chapter 2, 34: 200,000 characters older than two user turns are marked, `skill` output never."""
    big = "x" * 200_000
    later = [*turn(), *turn()]
    assert planned([*turn(step("bash", big)), *later], OPENCODE_V1) == [2]
    assert planned([*turn(step("skill", big)), *later], OPENCODE_V1) == []


def test_opencode_leaves_the_two_newest_user_turns_alone() -> None:
    """Chapter 2, Prune: two user turns are safe; their outputs do not use up the protected tokens either."""
    big = "x" * 200_000
    assert planned([*turn(step("bash", big)), *turn()], OPENCODE_V1) == []
    newer = turn(step("bash", big))
    assert planned([*turn(step("bash", "x" * 100_000)), *newer, *newer], OPENCODE_V1) == []


@pytest.mark.parametrize(("newer", "gone"), [(159_000, [2]), (160_000, [2]), (40_000, [])])
def test_opencode_protects_the_newest_40_000_tokens(newer: int, gone: list[int]) -> None:
    """Chapter 2, Prune, PRUNE_PROTECT: the output that crosses the line goes; one that stays below it is kept."""
    messages = [*turn(step("bash", "x" * 100_000), step("bash", "y" * newer)), *turn(), *turn()]
    assert planned(messages, OPENCODE_V1) == gone


@pytest.mark.parametrize(("tokens", "gone"), [(19_900, []), (20_100, [2])])
def test_opencode_prunes_from_20_000_tokens_on(tokens: int, gone: list[int]) -> None:
    """Chapter 2, Prune, PRUNE_MINIMUM."""
    messages = [*turn(step("bash", "x" * tokens * 4), step("bash", "y" * 160_000)), *turn(), *turn()]
    assert planned(messages, OPENCODE_V1) == gone


def test_opencode_stops_at_what_is_cleared_already() -> None:
    """Chapter 2, Prune: an earlier run looked at everything older."""
    big = "x" * 200_000
    messages = [*turn(step("bash", big)), *turn(step("bash", big)), *turn(), *turn()]
    held = [Edit(5, value={**messages[5], "content": "gone"})]
    assert planned(messages, OPENCODE_V1, held=held) == []
    assert planned(messages, replace(OPENCODE_V1, stops_at_cleared=False), held=held) == [2]


# ------------------------------------------------------------------------------------------------------- Gemini CLI


def gemini_outputs(*tokens: int) -> list[Message]:
    """Outputs of so many tokens, oldest first, and one small newest turn."""
    return turn(*(step("run_query", "x" * 4 * one) for one in tokens), step("run_query", "ok"))


def test_gemini_masks_one_of_three_outputs() -> None:
    """Chapter 4, 20: outputs of 60K, 20K and 10K tokens, oldest first: one masked; already masked: skipped."""
    messages = gemini_outputs(60_000, 20_000, 10_000)
    assert planned(messages, GEMINI_MASKING) == [2]
    held = [Edit(2, value={**messages[2], "content": "gone"})]
    assert planned(messages, GEMINI_MASKING, held=held) == []


def test_gemini_masks_only_where_30_000_tokens_go() -> None:
    """Chapter 4, 20 and Prune: acts if 30,000 or more can go; less is no gain."""
    assert planned(gemini_outputs(9_900, 20_000, 40_000), GEMINI_MASKING) == []
    assert planned(gemini_outputs(10_500, 20_000, 40_000), GEMINI_MASKING) == [2, 4]


def test_gemini_leaves_the_newest_turn_whole() -> None:
    """Chapter 4, Prune: the newest turn is safe, however large."""
    assert planned(turn(step("run_query", "x" * 4 * 90_000)), GEMINI_MASKING) == []


def test_gemini_keeps_250_characters_at_each_end_and_of_a_shell_10_lines() -> None:
    """Chapter 4, Prune: 250 + 250 characters, shell 10 + 10 lines; the file's place is the address."""
    lines = [f"{number} {WORD * 20}" for number in range(4_000)]
    shell, other = "\n".join(lines), WORD * 80_000
    messages = turn(
        step("run_query", other), step("run_shell_command", shell), step("run_query", "ok" + WORD * 60_000)
    )
    messages += step("run_query", "ok")
    head, _, tail = text_after(messages, GEMINI_MASKING, 2).partition("\n[…")
    assert head == other[:250]
    assert tail.endswith(other[-250:])
    assert "[r:2]" in tail
    head, _, tail = text_after(messages, GEMINI_MASKING, 4).partition("[…")
    assert head.splitlines() == lines[:10]
    assert tail.splitlines()[1:] == lines[-10:]


@pytest.mark.parametrize("name", ["activate_skill", "ask_user", "write_todos", "exit_plan_mode"])
def test_gemini_never_masks_skills_answers_and_plans(name: str) -> None:
    """Chapter 4, Prune: skill, ask-user and plan tools are exempt."""
    messages = turn(step(name, "x" * 400_000), step("run_query", "x" * 240_000), step("run_query", "ok"))
    assert planned(messages, GEMINI_MASKING) == [4]


def test_gemini_cuts_the_older_of_two_large_outputs() -> None:
    """Chapter 4, 5: outputs of 170,000 characters: newest whole, older one 8,000 first and 32,000 last characters."""
    older, newest = "ab" * 85_000, "cd" * 85_000
    messages = turn(step("run_query", older), step("run_query", newest))
    entries = entries_of(messages, characters_per_token=4)
    plan = plan_clearing(CHAT, entries, GEMINI_CUT, measure=lambda one: _tokens(one, 4))
    assert cleared(plan) == [2]
    assert isinstance(plan, Clearing)
    head, _, tail = str(plan.edits[0].value["content"]).partition("\n[…")
    assert head == older[:8_000]
    assert tail.endswith("\n" + older[-32_000:])
    assert "130,000 characters" in tail


def test_a_cut_result_needs_no_place_to_be_saved_in() -> None:
    """Chapter 4, 6: with the disk full the original is kept and counted; here history always is that original.

    The entry is untouched, the note says where it can be read, and the next step goes on from the smaller size.
    """
    messages = [*turn(step("run", WORD * 42_500)), *turn(step("run", WORD * 42_500))]
    before = json.dumps(messages)
    entries = entries_of(messages)
    plan = plan_clearing(CHAT, entries, GEMINI_CUT)
    assert isinstance(plan, Clearing)
    assert json.dumps(messages) == before
    [edit] = plan.edits
    after = apply_context(messages, (), 0, plan.edits)
    assert f"[r:{edit.seq}] has the whole text" in after[edit.seq]["content"]
    assert entries[edit.seq].message["content"] == WORD * 42_500
    now = sum(count_message(CHAT, message, None) for message in after)
    assert sum(entry.tokens for entry in entries) - now == plan.saving_tokens


def test_gemini_newer_changes_nothing_in_three_tool_turns() -> None:
    """Chapter 4, 8: three tool turns or fewer, or nothing large: nothing; reading, grep and glob results stay."""
    big, small = "x" * 60_000, "x" * 2_000
    assert planned(turn(*[step("run_query", big)] * 3), GEMINI_NEWER) == []
    assert planned(turn(*[step("run_query", small)] * 9), GEMINI_NEWER) == []
    assert planned(turn(*[step("run_query", big)] * 4), GEMINI_NEWER) == [2]
    for name in ("read_file", "read_many_files", "grep_search", "search_file_content", "glob"):
        assert planned(turn(*[step(name, big)] * 4), GEMINI_NEWER) == [], name


@pytest.mark.parametrize(("size", "gone"), [(2_048, []), (2_049, [2])])
def test_gemini_newer_cuts_strings_over_2_048_bytes(size: int, gone: list[int]) -> None:
    """Chapter 4, Cut: with a marker, on grapheme borders."""
    text = ("🙂" * (size // 4)) + "x" * (size % 4)
    messages = turn(step("run_query", text), *[step("run_query", "ok")] * 3)
    assert size_in(Unit.BYTES, text) == size
    assert planned(messages, GEMINI_NEWER) == gone
    if gone:
        assert text_after(messages, GEMINI_NEWER, 2).startswith("🙂" * 128 + "\n[…")


@pytest.mark.parametrize("letter", ["x", "€", "🙂"])
def test_gemini_newer_stores_100_kb_in_64(letter: str) -> None:
    """Chapter 4, 9: a 100 KB output is stored in at most 64 KB + 256 bytes."""
    text = letter * (100 * 1024 // len(letter.encode()))
    stored = text_after(turn(step("run_query", text)), GEMINI_STORED, 2)
    assert 64 * 1024 - 8 < size_in(Unit.BYTES, stored) <= 64 * 1024 + 256


def test_gemini_newer_keeps_50_turns_of_60_kb_under_250() -> None:
    """Chapter 4, 10: 50 turns of 60 KB stay under 250 KB, newest whole."""
    big = "word " * 12_000
    messages = [message for _ in range(50) for message in turn(step("run_query", big))]
    plan = plan_clearing(CHAT, entries_of(messages), GEMINI_NEWER)
    assert isinstance(plan, Clearing)
    context = apply_context(messages, (), 0, plan.edits)
    assert context[-1]["content"] == big
    assert len(json.dumps(context, ensure_ascii=False).encode()) < 250 * 1024


# ------------------------------------------------------------------------------------------------------ Claude Code


@pytest.mark.parametrize(("tokens", "gone"), [(19_000, []), (20_000, [2])])
def test_claude_code_clears_from_20_000_tokens_on(tokens: int, gone: list[int]) -> None:
    """Chapter 5, 4: clearing that would save 19,000 tokens: not done; 20,000: done."""
    note = len("[Result of Bash cleared to save room: [r:2] has it whole]") // 4
    messages = turn(step("Bash", "x" * 4 * (tokens + note)), *[step("Bash", "ok")] * 5)
    entries = entries_of(messages, characters_per_token=4)
    plan = plan_clearing(CHAT, entries, CLAUDE_CODE, measure=lambda one: _tokens(one, 4))
    assert cleared(plan) == gone
    assert plan.saving_tokens == tokens


@pytest.mark.parametrize("name", ["TodoWrite", "Task", "Skill", "AskUserQuestion", "mcp__crm__lookup"])
def test_claude_code_clears_only_its_kinds(name: str) -> None:
    """Chapter 5, 5: results of tools outside the clearable kinds stay."""
    messages = turn(step(name, WORD * 90_000), *[step("Read", "ok")] * 5)
    assert cleared(plan_clearing(CHAT, entries_of(messages), CLAUDE_CODE)) == []


@pytest.mark.parametrize("name", ["Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "Write"])
def test_claude_code_clears_reads_shells_searches_web_edits_and_writes(name: str) -> None:
    """Chapter 5, Prune: the clearable kinds; calls stay, the result becomes a placeholder."""
    messages = turn(step(name, WORD * 90_000), *[step("Read", "ok")] * 5)
    plan = plan_clearing(CHAT, entries_of(messages), CLAUDE_CODE)
    assert cleared(plan) == [2]
    context = apply_context(messages, (), 0, plan.edits if isinstance(plan, Clearing) else ())
    assert context[1] == messages[1]
    assert "[r:2]" in context[2]["content"]


@pytest.mark.parametrize("kept", [3, 5, 6])
def test_claude_code_keeps_its_newest_results(kept: int) -> None:
    """Chapter 5, Prune: newest N kept, a setting; results of other kinds do not count among them."""
    big = WORD * 30_000
    messages = turn(*[step("Read", big), step("Task", big)] * 8)
    plan = plan_clearing(CHAT, entries_of(messages), replace(CLAUDE_CODE, keep_recent=kept))
    assert cleared(plan) == [2 + 4 * number for number in range(8 - kept)]


# ---------------------------------------------------------------------------------------------------- Anthropic API


def api_plan(messages: list[Message], rule: ClearingRule) -> Clearing | NothingToClear:
    """The plan at a context large enough to start."""
    return plan_clearing(CHAT, entries_of(messages), rule, context_tokens=100_000)


@pytest.mark.parametrize(("tokens", "gone"), [(99_999, []), (100_000, [2])])
def test_anthropic_clears_from_100_000_input_tokens_on(tokens: int, gone: list[int]) -> None:
    """Chapter 6, 12: without settings from 100,000 input tokens."""
    entries = entries_of(turn(*[step("lookup", WORD * 500)] * 4))
    plan = plan_clearing(CHAT, entries, ANTHROPIC_CONTEXT_EDITING, context_tokens=tokens)
    assert cleared(plan) == gone


def test_anthropic_keeps_the_three_newest_tool_uses() -> None:
    """Chapter 6, 12: tool clearing without settings keeps the newest 3 uses."""
    messages = turn(*[step("lookup", WORD * 500)] * 7)
    plan = api_plan(messages, ANTHROPIC_CONTEXT_EDITING)
    assert cleared(plan) == [2, 4, 6, 8]


def test_anthropic_never_clears_excluded_tools() -> None:
    """Chapter 6, 12, `exclude_tools`."""
    messages = turn(*[step("memory", WORD * 500), step("lookup", WORD * 500)] * 5)
    plan = api_plan(messages, replace(ANTHROPIC_CONTEXT_EDITING, protected=("memory",)))
    assert cleared(plan) == [4, 8]


@pytest.mark.parametrize(("at_least", "reason"), [(1_000, None), (5_000, Idle.SAVING_TOO_SMALL)])
def test_anthropic_clears_at_least_so_much(at_least: int, reason: Idle | None) -> None:
    """Chapter 6, Prune, `clear_at_least`: clearing spoils the cache, so it has to be worth it."""
    messages = turn(*[step("lookup", WORD * 500)] * 7)
    rule = replace(ANTHROPIC_CONTEXT_EDITING, min_saving_tokens=at_least)
    plan = api_plan(messages, rule)
    assert (plan.reason if isinstance(plan, NothingToClear) else None) is reason


# ---------------------------------------------------------------------------------------------------------- presets


@pytest.mark.parametrize("name", preset_names())
def test_the_shipped_presets_say_the_same(name: str) -> None:
    """The tables of the presets hold these numbers; systems that clear nothing say so."""
    rule = load_preset(name).clearing
    if name not in PRESETS:
        assert rule == ClearingRule(mode=ClearMode.NOTHING)
        entries = entries_of(turn(*[step("Read", WORD * 50_000)] * 9))
        assert plan_clearing(CHAT, entries, rule) == NothingToClear(Idle.SWITCHED_OFF)
        return
    expected = PRESETS[name]
    assert set(rule.clearable) == set(expected.clearable)
    assert replace(rule, clearable=expected.clearable) == expected
