"""What code carries over: the user's words, constraints, files, failures; nothing invented, nothing lost."""

from __future__ import annotations

import json
from itertools import pairwise
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine.catalogue import Touch
from precompact_shared.engine.cut import safe_cuts
from precompact_shared.engine.preset import load_preset, preset_names
from precompact_shared.engine.summary import (
    Accepted,
    Carried,
    Coverage,
    Rejected,
    RejectReason,
    check_summary,
    coverage,
    extract,
    render,
)
from precompact_shared.engine.summary.constraints import constraints_in
from precompact_shared.engine.summary.shorten import one_line, shorten_middle, well_formed
from precompact_shared.engine.summary.voice import tell_apart
from precompact_shared.engine.tokens import count_text
from precompact_shared.engine.types import Entry, Format, Message
from tests.support.histories import any_history, entries_of
from tests.support.recordings import Recording, needs_recordings, recordings

A, C, R = Format.ANTHROPIC, Format.OPENAI_CHAT, Format.OPENAI_RESPONSES
OURS = load_preset("precompact")
FAMILY = "👩‍👩‍👧‍👦"


def user(text: str) -> Message:
    """A user message."""
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    """An assistant message without calls."""
    return {"role": "assistant", "content": text}


def did(
    wire: Format, name: str, arguments: dict[str, Any], output: str, *, failed: bool = False
) -> list[Message]:
    """A call and its result in the shape of the format."""
    if wire is A:
        use = {"type": "tool_use", "id": "x", "name": name, "input": arguments}
        back = {"type": "tool_result", "tool_use_id": "x", "content": output, "is_error": failed}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    text = json.dumps(arguments)
    if wire is C:
        asked = {"id": "x", "type": "function", "function": {"name": name, "arguments": text}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "x", "content": output},
        ]
    return [
        {"type": "function_call", "call_id": "x", "name": name, "arguments": text},
        {"type": "function_call_output", "call_id": "x", "output": output},
    ]


def gathered(wire: Format, messages: list[Message]) -> Carried:
    """What one extraction finds."""
    return extract(wire, entries_of(messages), None)


# --------------------------------------------------------------------------------------------------------- extract


@given(any_history(max_turns=6), st.data())
def test_two_steps_carry_what_one_step_does(
    generated: tuple[Format, list[Message]], data: st.DataObject
) -> None:
    """Never a summary of a summary: the second generation knows what a fresh one would."""
    wire, messages = generated
    entries = entries_of(messages)
    places = sorted(data.draw(st.sets(st.sampled_from(safe_cuts(wire, entries)), max_size=3)))
    carried: Carried | None = None
    for start, stop in pairwise([0, *places, len(entries)]):
        carried = extract(wire, entries[start:stop], carried)
        assert Carried.from_json(json.loads(json.dumps(carried.to_json()))) == carried
    assert carried == extract(wire, entries, None)


@pytest.mark.parametrize("wire", list(Format))
def test_the_same_facts_are_found_in_every_format(wire: Format) -> None:
    """Requests, constraints, files, commands, failures and the last words."""
    carried = gathered(
        wire,
        [
            user("Fix the parser. Never touch setup.py!"),
            *did(wire, "Read", {"file_path": "src/parser.py"}, "text"),
            *did(wire, "Edit", {"file_path": "src/parser.py"}, "ok"),
            *did(wire, "Read", {"file_path": "src/parser.py"}, "text"),
            *did(wire, "Read", {"file_path": "README.md"}, "text"),
            *did(
                wire,
                "bash",
                {"command": "pytest -q"},
                "E  ValueError: bad\nCommand exited with code 1",
                failed=True,
            ),
            *did(wire, "bash", {"command": "ls"}, "a b"),
            said("The parser is fixed."),
            user("Thanks. Now the lexer."),
        ],
    )
    assert [one.text for one in carried.requests] == [
        "Fix the parser. Never touch setup.py!",
        "Thanks. Now the lexer.",
    ]
    assert [one.text for one in carried.constraints] == ["Never touch setup.py!"]
    assert [(one.path, one.touch) for one in carried.files] == [
        ("src/parser.py", Touch.MODIFIED),
        ("README.md", Touch.READ),
    ]
    assert [(one.what, one.error) for one in carried.failures] == [("pytest -q", "E ValueError: bad")]
    assert [one.what for one in carried.commands] == ["pytest -q", "ls"]
    assert carried.requests[0].answer == "The parser is fixed."
    assert carried.last_words is not None
    assert carried.unanswered is not None
    assert carried.unanswered.text == "Thanks. Now the lexer."


@pytest.mark.parametrize("wire", list(Format))
@pytest.mark.parametrize(
    ("tail", "open_request"),
    [
        ([said("Done.")], False),
        ([], True),
        (["work"], True),
        ([said("Let me look."), "work"], True),
        (["work", said("Done.")], False),
        (["work", said("Done."), user("[Request interrupted by user]")], False),
    ],
)
def test_the_unanswered_request_is_the_last_one_without_a_finished_answer(
    wire: Format, tail: list[Any], *, open_request: bool
) -> None:
    """Text in front of a call is no answer; a notice of the agent is no request."""
    work = did(wire, "Read", {"file_path": "a.py"}, "text")
    messages = [user("first"), said("ok"), user("second")]
    for step in tail:
        messages += work if step == "work" else [step]
    found = gathered(wire, messages).unanswered
    assert (found.text if found else None) == ("second" if open_request else None)


def test_a_failure_that_was_overcome_is_no_longer_one() -> None:
    """Only the last try of a command counts."""
    failing = did(C, "bash", {"command": "make"}, "boom\nexit code: 2")
    assert [one.what for one in gathered(C, [user("go"), *failing]).failures] == ["make"]
    working = did(C, "bash", {"command": "make"}, "fine\nexit code: 0")
    assert gathered(C, [user("go"), *failing, *working]).failures == ()


@pytest.mark.parametrize(
    ("command", "output", "error"),
    [
        ("grep -n x a.py", "Command exited with code 1", None),
        ("grep -n x missing", "grep: missing: No such file\nexit code 2", "grep: missing: No such file"),
        ("cat a.py", "x = 1  # exit code 3 is special\n" + "y\n" * 600, None),
        ("cat b.py", "y\n" * 600 + "exit code 3 is special\n" + "y\n" * 600, None),
        ("make", "Process exited with code 0\nOutput:\nerror: none", None),
        (
            "make",
            '{"output":"bad","metadata":{"exit_code":7}}',
            '{"output":"bad","metadata":{"exit_code":7}}',
        ),
    ],
)
def test_exit_codes_stand_at_the_edges_of_an_output(command: str, output: str, error: str | None) -> None:
    """A search without hits is no failure; the same words in the middle of a file are its text."""
    failures = gathered(C, [user("go"), *did(C, "bash", {"command": command}, output)]).failures
    assert [one.error for one in failures] == ([] if error is None else [error])


def test_what_the_user_says_on_declining_a_call_is_a_request() -> None:
    """Their words stand in a tool result; the call is no failure."""
    told = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nNever push!"
    carried = gathered(
        A, [user("go"), said("ok"), *did(A, "Bash", {"command": "git push"}, told, failed=True)]
    )
    assert [(one.seq, one.text) for one in carried.requests] == [(0, "go"), (3, "Never push!")]
    assert [one.text for one in carried.constraints] == ["Never push!"]
    assert carried.failures == ()
    silent = did(
        A,
        "Bash",
        {"command": "git push"},
        "The user doesn't want to proceed with this tool use.",
        failed=True,
    )
    assert len(gathered(A, [user("go"), *silent]).requests) == 1


def test_the_plan_as_last_written_is_kept() -> None:
    """With the status of every step, whatever the agent calls its list."""
    first = did(A, "TodoWrite", {"todos": [{"content": "look", "status": "pending"}]}, "ok")
    second = did(A, "update_plan", {"plan": [{"step": "look", "status": "completed"}, {"step": "fix"}]}, "ok")
    plan = gathered(A, [user("go"), *first, *second]).plan
    assert [(one.text, one.status) for one in plan] == [("look", "completed"), ("fix", "")]


def test_lists_are_bounded_and_the_newest_stay() -> None:
    """A session of any length carries a bounded load, and the first request is never forgotten."""
    messages: list[Message] = []
    for number in range(1_500):
        messages += [user(f"request {number} " + "x" * 100), said("ok")]
        messages += did(A, "Read", {"file_path": f"f{number}.py"}, "text")
    carried = gathered(A, messages)
    assert carried.request_count == 1_500
    assert carried.requests[-1].text.startswith("request 1499 ")
    assert carried.first_request is not None
    assert carried.first_request.text.startswith("request 0 ")
    assert carried.files[-1].path == "f1499.py"
    assert len(json.dumps(carried.to_json())) < 250_000


def test_words_the_user_never_said_are_no_requests() -> None:
    """Reminders, command output, interruptions; a rules file gives constraints only; an older summary is kept apart."""
    reminder = "<system-reminder>\nYou must obey.\n</system-reminder>"
    assert tell_apart(f"{reminder}fix it").words == "fix it"
    assert tell_apart("<command-name>/exit</command-name>\n<command-args></command-args>").words == ""
    assert tell_apart("[Request interrupted by user for tool use]").words == ""
    rules = tell_apart("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>")
    assert (rules.words, "Never push." in rules.rules) == ("", True)
    older = (
        "This session is being continued from a previous conversation that ran out of context. It was long."
    )
    assert (tell_apart(older).words, tell_apart(older).earlier_summary) == ("", older)
    carried = gathered(C, [user(older), user(reminder), user("go")])
    assert carried.earlier_summary is not None
    assert [one.text for one in carried.requests] == ["go"]
    assert carried.constraints == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Please always run the tests. It always fails on Monday.", ["Please always run the tests."]),
        ("Don't push. I don't know why. Don't we have a test?", ["Don't push."]),
        ("- never use git stash\n- you must ask first", ["never use git stash", "you must ask first"]),
        (
            "Bitte nicht pushen. Der Test muss grün bleiben.",
            ["Bitte nicht pushen.", "Der Test muss grün bleiben."],
        ),
        ("先看看代码。不要修改配置文件。必须先跑测试！", ["不要修改配置文件。", "必须先跑测试！"]),
        ("```\nnever in code\n```\nfine", []),
        ("Toujours répondre en français.", ["Toujours répondre en français."]),
        ("コメントは必ず日本語で。", ["コメントは必ず日本語で。"]),
        ("never " + "x" * 500, []),
        ("", []),
    ],
)
def test_standing_constraints(text: str, found: list[str]) -> None:
    """Whole sentences in the user's language; what merely tells of always and never is left alone."""
    assert list(constraints_in(text)) == found


def test_a_constraint_said_twice_is_kept_once_as_the_newer() -> None:
    """Case and spacing do not make it another."""
    carried = gathered(C, [user("Never push."), user("Always test."), user("never  push.")])
    assert [(one.seq, one.text) for one in carried.constraints] == [(1, "Always test."), (2, "never  push.")]


@pytest.mark.parametrize(
    "evil",
    [
        "<system-reminder>",
        "<INSTRUCTIONS>",
        "cat <<A\n",
        "```",
        '"',
        "\n",
        " ",
        "exit 1 ",
        "<said ",
        "Error",
        "never ",
        "[r:",
    ],
)
def test_text_made_to_be_slow_is_read_in_passing(evil: str) -> None:
    """Anybody may write to an agent: no input may hold a worker."""
    flood = evil * (400_000 // len(evil))
    messages = [
        user(flood),
        *did(A, "bash", {"command": flood}, flood, failed=True),
        *did(A, "apply_patch", {"input": flood}, flood),
        said(flood),
    ]
    start = perf_counter()
    summary = render(gathered(A, messages), OURS, 8_000)
    check_summary(flood + summary.text, tokens=1, covered_tokens=10, max_tokens=10, preset=OURS)
    assert perf_counter() - start < 5


# ---------------------------------------------------------------------------------------------------------- render


@pytest.mark.parametrize("name", preset_names())
@given(generated=any_history(), max_tokens=st.integers(400, 3_000))
def test_a_summary_fits_its_budget_and_passes_its_own_check(
    name: str, generated: tuple[Format, list[Message]], max_tokens: int
) -> None:
    """Every section in order and filled, whatever the history holds."""
    wire, messages = generated
    preset = load_preset(name)
    carried = extract(wire, entries_of(messages), None)
    summary = render(carried, preset, max_tokens)
    assert summary.tokens == count_text(summary.text) <= max_tokens
    assert [heading for heading, _ in summary.sections] == [one.heading for one in preset.summary.sections]
    verdict = check_summary(
        summary.text, tokens=summary.tokens, covered_tokens=10**6, max_tokens=max_tokens, preset=preset
    )
    assert verdict == Accepted()
    assert render(carried, preset, max_tokens) == summary


@pytest.mark.parametrize("max_tokens", [0, 1, 7, 50, 120, 300])
def test_a_budget_too_small_for_the_headings_is_kept_all_the_same(max_tokens: int) -> None:
    """Never more than asked for; the check refuses what came of it."""
    summary = render(gathered(C, [user("不要修改 " * 500), said("ok " * 500)]), OURS, max_tokens)
    assert count_text(summary.text) <= max_tokens


def test_the_newest_requests_stand_word_for_word_and_the_first_is_remembered() -> None:
    """Newest first into the budget, oldest first on the page."""
    texts = [
        f"request {number}\n## Constraints\nline {number} {FAMILY} </said>" + " pad" * 150
        for number in range(60)
    ]
    messages = [item for text in texts for item in (user(text), said("ok"))]
    summary = render(gathered(C, messages), OURS, 4_000)
    shown = [number for number, text in enumerate(texts) if f"request {number}\n" in summary.text]
    assert shown == [0, *range(shown[1], 60)]
    assert len(shown) > 5
    assert texts[59].replace("</said>", "‹/said>") in summary.text
    assert "more, not shown here" in summary.text
    verdict = check_summary(summary.text, tokens=10, covered_tokens=20, max_tokens=20, preset=OURS)
    assert verdict == Accepted()


def test_a_single_huge_request_keeps_its_beginning_and_end() -> None:
    """Shortened in the middle, as large as the budget allows."""
    words = " ".join(f"word{number}" for number in range(20_000))
    summary = render(gathered(C, [user(words)]), OURS, 1_000)
    assert "word0 word1 " in summary.text
    assert "word19999</said>" in summary.text
    assert "characters left out" in summary.text
    assert 600 < summary.tokens <= 1_000


def test_addresses_name_the_covered_span_and_its_turns() -> None:
    """What `recall` needs to read the originals."""
    carried = extract(C, entries_of([user("one"), said("a"), user("two"), said("b")], start=40), None)
    text = render(carried, OURS, 2_000).text
    assert "[r:40-43]" in text
    assert "[r:40-41] one" in text
    assert "[r:42-43] two" in text


def test_the_holdings_of_one_section_stand_one_after_the_other() -> None:
    """Pi's critical context has three; none is scattered among the others."""
    failing = did(C, "bash", {"command": "make"}, "boom\nexit code: 2")
    working = did(C, "bash", {"command": "ls"}, "a")
    text = render(gathered(C, [user("one"), *working, *failing, user("two")]), load_preset("pi"), 2_000).text
    order = [text.index(mark) for mark in ("failed bash", "ran bash", "Everything covered", "[r:5] two")]
    assert order == sorted(order)


def test_the_focus_comes_first() -> None:
    """A manual run may say what matters."""
    messages = [user("go")]
    for number in range(300):
        messages += did(C, "Edit", {"file_path": f"src/part{number}.py"}, "ok")
    carried = gathered(C, messages)
    assert "part3.py" not in render(carried, OURS, 900).text
    assert "part3.py" in render(carried, OURS, 900, focus="what about part3.py?").text


def test_a_summary_gives_no_orders_and_invents_nothing() -> None:
    """Each content line is a quotation or carries the address of its entry."""
    carried = gathered(A, [user("Fix it"), *did(A, "Edit", {"file_path": "a.py"}, "ok"), said("Fixed.")])
    for heading, body in render(carried, OURS, 2_000).sections:
        assert heading.startswith("## ")
        for line in body.splitlines():
            assert "[r:" in line or line.startswith("<said ") or line == "(nothing recorded)", line


# ----------------------------------------------------------------------------------------------------------- check

FILLED = "\n".join(f"{one.heading}\ntext" for one in OURS.summary.sections)


@pytest.mark.parametrize(
    ("text", "tokens", "covered", "reason", "section"),
    [
        (" \n", 1, 100, RejectReason.BLANK, None),
        (FILLED, 51, 100, RejectReason.TOO_LONG, None),
        (FILLED, 50, 50, RejectReason.NOT_SMALLER, None),
        (FILLED.replace("## Files", "Files"), 10, 100, RejectReason.SECTION_MISSING, "## Files"),
        (FILLED.replace("## Open\ntext", "## Open\n  "), 10, 100, RejectReason.SECTION_EMPTY, "## Open"),
        (
            FILLED.replace("## Open", "## X").replace("## Files", "## Open").replace("## X", "## Files"),
            10,
            100,
            RejectReason.SECTION_ORDER,
            "## Commands and errors",
        ),
        ("prose without headings", 10, 100, RejectReason.SECTION_MISSING, "## Goal and requests"),
    ],
)
def test_what_is_not_stored(
    text: str, tokens: int, covered: int, reason: RejectReason, section: str | None
) -> None:
    """Each fault has its name."""
    verdict = check_summary(text, tokens=tokens, covered_tokens=covered, max_tokens=50, preset=OURS)
    assert isinstance(verdict, Rejected)
    assert verdict.reason is reason
    assert reason is RejectReason.SECTION_ORDER or verdict.section == section


def test_headings_may_differ_in_case_and_carry_a_colon() -> None:
    """Models write them so."""
    text = FILLED.replace("## Files", "## FILES:")
    assert check_summary(text, tokens=10, covered_tokens=100, max_tokens=50, preset=OURS) == Accepted()


def test_coverage_is_a_share_of_tokens_without_pinned_entries() -> None:
    """Nothing to cover counts as covered."""
    covered = [Entry(0, user("rules"), 1_000, pinned=True), Entry(1, user("a"), 30), Entry(2, user("b"), 10)]
    assert coverage(covered[:2], covered) == Coverage(30, 40)
    assert coverage(covered[:2], covered).share == 0.75
    assert coverage([], []).share == 1.0


# --------------------------------------------------------------------------------------------------------- shorten


@given(
    st.lists(st.sampled_from([FAMILY, "e\u0301", "🇩🇪", "漢", "a", " ", "\r\n"]), max_size=120).map("".join),
    st.integers(0, 200),
)
def test_shortening_never_breaks_a_character_a_reader_sees(text: str, size: int) -> None:
    """Both ends are whole clusters of the original."""
    short = shorten_middle(text, size)
    assert len(short) <= max(size, 0)
    if short == text:
        return
    head, _, rest = short.partition(" […")
    tail = rest.partition("left out…] ")[2]
    assert _whole(text, head, text[len(head) :])
    assert _whole(text, text[: len(text) - len(tail)], tail)


def test_a_long_run_of_flags_is_not_shifted_by_half_a_flag() -> None:
    """Two letters make a flag; which two is known from the start of the run only."""
    short = shorten_middle("🇩🇪" * 2_000, 203)
    head, _, tail = short.partition(" […")
    assert {head[i : i + 2] for i in range(0, len(head), 2)} == {"🇩🇪"}
    assert tail.endswith("🇩🇪🇩🇪")


def _whole(text: str, before: str, behind: str) -> bool:
    import regex  # type: ignore[import-untyped]

    assert text == before + behind
    return len(regex.findall(r"\X", text)) == len(regex.findall(r"\X", before)) + len(
        regex.findall(r"\X", behind)
    )


def test_broken_surrogates_are_mended() -> None:
    """JSON may hold halves of pairs; a summary must not."""
    assert well_formed("\ud83d\ude00 \ud83d x") == "😀 \ufffd x"
    assert one_line(" a\n\n b ", 20) == "a b"
    carried = gathered(C, [user("look \ud83d here"), said("done \ude00")])
    render(carried, OURS, 2_000).text.encode("utf-8")


# ------------------------------------------------------------------------------------------------------ recordings


@pytest.mark.recordings
@needs_recordings()
@pytest.mark.parametrize("recording", recordings(), ids=lambda one: str(one.name))
def test_recorded_conversations_are_carried_in_two_steps_as_in_one(recording: Recording) -> None:
    """Real text, real tools: incremental, storable, within the budget."""
    loaded = recording.load()
    wire = Format(loaded["format"])
    entries = entries_of(loaded["messages"])
    whole = extract(wire, entries, None)
    places = safe_cuts(wire, entries)
    for place in {places[len(places) // 3], places[len(places) * 2 // 3]}:
        first = Carried.from_json(json.loads(json.dumps(extract(wire, entries[:place], None).to_json())))
        assert extract(wire, entries[place:], first) == whole
    for name in preset_names():
        preset = load_preset(name)
        summary = render(whole, preset, preset.summary.max_tokens)
        summary.text.encode("utf-8")
        assert summary.tokens <= preset.summary.max_tokens
