"""Each rule by itself: the smallest list that breaks it and nothing else, and the smallest change that mends it."""

from __future__ import annotations

import typing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pytest
import typing_extensions
from anthropic.types.beta import beta_content_block_param, beta_tool_result_block_param
from openai.types.responses import response_input_content_param

from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.validate import (
    ALL,
    CHECKS,
    ERRORS,
    OUTSIDE,
    Check,
    RequestFacts,
    Rules,
    Severity,
    fingerprint,
    is_valid,
    silent_checks,
    validate,
)
from precompact_shared.engine.validate.anthropic.fields import FIELDS, IN_A_RESULT, NULLABLE
from scripts.write_rules import RULES_PAGE, rules_page

ANTHROPIC, CHAT, RESPONSES = Format.ANTHROPIC, Format.OPENAI_CHAT, Format.OPENAI_RESPONSES
ERROR, WARNING, HOUSE = Severity.ERROR, Severity.WARNING, Severity.HOUSE

ASK: Message = {"role": "user", "content": "do it"}
DONE: Message = {"role": "assistant", "content": "done"}
RULE: Message = {"role": "system", "content": "be careful"}
TEXT: Message = {"type": "text", "text": "x"}
EMPTY: Message = {"type": "text", "text": ""}
BLANK: Message = {"type": "text", "text": "\n\n"}
CALL: Message = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
RESULT: Message = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
SEARCH: Message = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND: Message = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
THOUGHT: Message = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SECOND_THOUGHT: Message = {"type": "thinking", "thinking": "well", "signature": "c2ln2"}
UNSIGNED: Message = {"type": "thinking", "thinking": "hm"}
HIDDEN: Message = {"type": "redacted_thinking", "data": "eHl6"}
BLOCK: Message = {"type": "compaction", "content": "so far", "signature": "c2ln"}
PICTURE: Message = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
PAPER: Message = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
SHORT: Message = {"cache_control": {"type": "ephemeral"}}
LONG: Message = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def user(*parts: Message) -> Message:
    """A user message of these parts."""
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Message) -> Message:
    """An assistant message of these parts."""
    return {"role": "assistant", "content": list(parts)}


CHAT_CALL: Message = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
CHAT_USE: Message = {"role": "assistant", "tool_calls": [CHAT_CALL]}
CHAT_RESULT: Message = {"role": "tool", "tool_call_id": "a", "content": "ok"}

ITEM_USE: Message = {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"}
ITEM_RESULT: Message = {"type": "function_call_output", "call_id": "a", "output": "ok"}
CUSTOM_USE: Message = {"type": "custom_tool_call", "call_id": "a", "name": "t", "input": ""}
CUSTOM_RESULT: Message = {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"}
REASONING: Message = {"type": "reasoning", "id": "rs_1", "summary": []}
UNNAMED: Message = {"type": "reasoning", "summary": []}
ITEM: Message = {"type": "compaction", "id": "cmp_1", "encrypted_content": "ZW5j"}
TRIGGER: Message = {"type": "compaction_trigger"}


@dataclass(frozen=True)
class Example:
    """One breach and its mending; `at` is where it is reported."""

    wire: Format
    id: str
    severity: Severity
    at: int
    broken: list[Message]
    mended: list[Message]
    request: RequestFacts | None = None
    """What is known of the request, for both."""
    mended_request: RequestFacts | None = None
    """Only where the request is what is mended."""

    def __str__(self) -> str:
        return f"{self.id}-{self.severity.value}"

    @property
    def request_when_mended(self) -> RequestFacts | None:
        """What is known of the mended request."""
        return self.mended_request or self.request


def known(**facts: Any) -> RequestFacts:
    """These facts of the request and no others."""
    return RequestFacts(**facts)


def a(id_: str, at: int, broken: list[Message], mended: list[Message], *facts: RequestFacts) -> Example:
    """An error of Anthropic."""
    return Example(ANTHROPIC, id_, ERROR, at, broken, mended, *facts)


def o(id_: str, at: int, broken: list[Message], mended: list[Message], *facts: RequestFacts) -> Example:
    """An error of OpenAI Responses."""
    return Example(RESPONSES, id_, ERROR, at, broken, mended, *facts)


def c(id_: str, at: int, broken: list[Message], mended: list[Message], *facts: RequestFacts) -> Example:
    """An error of OpenAI Chat Completions."""
    return Example(CHAT, id_, ERROR, at, broken, mended, *facts)


def milder(severity: Severity, example: Example) -> Example:
    """The same with another severity."""
    return replace(example, severity=severity)


MANY = 1_000
OPEN_LOOP = [ASK, assistant(THOUGHT, CALL), user(RESULT)]
PHASED: Message = {**DONE, "phase": "final_answer"}

EXAMPLES = [
    a("A1", OUTSIDE, [], [ASK]),
    a("A1", 100_000, [ASK] * 100_001, [ASK] * 100_000),
    a("A2", 0, [DONE, ASK], [ASK]),
    a("A2", 0, [RULE, ASK], [ASK]),
    milder(HOUSE, a("A3", 1, [ASK, ASK], [ASK], known(normalized=True))),
    a("A4", 1, [ASK, DONE], [ASK, DONE, ASK], known(model="claude-opus-4-6")),
    a(
        "A4",
        1,
        [ASK, DONE],
        [ASK, DONE],
        known(model="claude-opus-5.5"),
        known(model="claude-sonnet-4-20250514"),
    ),
    a("A4", 1, [ASK, DONE], [ASK, DONE], known(model="claude-5"), known(model="claude-5", compacting=True)),
    a("A5", 1, [ASK, assistant(CALL)], [ASK, assistant(CALL), user(RESULT)]),
    a(
        "A5",
        1,
        [ASK, assistant(CALL, {**CALL, "id": "b"}), user(RESULT), DONE],
        [ASK, assistant(CALL, {**CALL, "id": "b"}), user(RESULT), user({**RESULT, "tool_use_id": "b"}), DONE],
    ),
    a("A6", 0, [user(RESULT)], [ASK]),
    a(
        "A6",
        4,
        [ASK, assistant(CALL), user(RESULT), DONE, user(RESULT)],
        [ASK, assistant(CALL), user(RESULT)],
    ),
    a("A7", 2, [ASK, assistant(CALL), user(TEXT, RESULT)], [ASK, assistant(CALL), user(RESULT, TEXT)]),
    a("A7", 3, [ASK, assistant(CALL), ASK, user(RESULT)], [ASK, assistant(CALL), user(RESULT), ASK]),
    a("A8", 3, [ASK, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)], [ASK, DONE]),
    a("A8", 2, [ASK, assistant(CALL), user(RESULT, RESULT)], [ASK, assistant(CALL), user(RESULT)]),
    a("A9a", 0, [user(TEXT, EMPTY)], [user(TEXT)]),
    a("A9a", OUTSIDE, [ASK], [ASK], known(system=(EMPTY,)), known(system=(TEXT,))),
    a("A9b", 0, [{"role": "user", "content": " \n"}], [ASK]),
    a("A9b", 0, [user(BLANK)], [user(BLANK), ASK]),
    a("A9b", 0, [user()], [user(TEXT)]),
    a("A9b", 0, [{"role": "user", "content": ""}], [ASK]),
    milder(WARNING, a("A9b", 1, [ASK, assistant(BLANK)], [ASK, assistant(BLANK), DONE])),
    a("A9c", 1, [ASK, assistant()], [ASK]),
    a("A9c", 1, [ASK, {"role": "assistant", "content": ""}, ASK], [ASK]),
    milder(HOUSE, a("A9c", 0, [user(BLANK, TEXT)], [user(TEXT)], known(normalized=True))),
    a("A10", 1, [ASK, assistant(UNSIGNED, TEXT)], [ASK, assistant(THOUGHT, TEXT)]),
    a("A10", 1, [ASK, assistant({"type": "redacted_thinking"}, TEXT)], [ASK, assistant(HIDDEN, TEXT)]),
    milder(WARNING, a("A10", 1, [ASK, assistant(UNSIGNED)], [ASK, assistant(THOUGHT)])),
    a("A10", 1, [ASK, assistant(CALL, THOUGHT), user(RESULT)], OPEN_LOOP),
    a("A10", 1, [ASK, assistant(CALL), user(RESULT)], OPEN_LOOP, known(thinking="enabled")),
    a(
        "A10",
        1,
        [ASK, assistant({**THOUGHT, "thinking": "ah"}, TEXT)],
        [ASK, assistant(THOUGHT, TEXT)],
        known(received=(assistant(THOUGHT, TEXT),)),
    ),
    a(
        "A10",
        1,
        [ASK, assistant(SECOND_THOUGHT, TEXT)],
        [ASK, assistant(TEXT)],
        known(received=(assistant(THOUGHT, SECOND_THOUGHT, TEXT),)),
    ),
    a("A11", 1, [ASK, assistant(THOUGHT, TEXT)], [ASK, assistant(TEXT)], known(summary_at=0)),
    a(
        "A11",
        1,
        [ASK, assistant(THOUGHT, TEXT)],
        [ASK, assistant(THOUGHT, TEXT)],
        known(summary_at=0),
        known(summary_at=0, block_mismatch="drop_block"),
    ),
    milder(
        WARNING,
        a(
            "A11",
            1,
            [assistant(BLOCK), assistant(THOUGHT, TEXT), ASK],
            [assistant(BLOCK), assistant(TEXT), ASK],
            known(compaction_model="claude-5", model="claude-6"),
        ),
    ),
    a("A12", 1, [ASK, assistant(PAPER)], [user(PAPER)], known(api_version="2026-10-21")),
    a(
        "A12",
        0,
        [user({**TEXT, "citations": [{}]})],
        [user({**TEXT, "citations": [{}]})],
        known(api_version="2026-10-21"),
        known(api_version="2023-06-01"),
    ),
    a("A13", 0, [user(*[{**TEXT, **SHORT}] * 5)], [user(*[{**TEXT, **SHORT}] * 4)]),
    a(
        "A13",
        0,
        [user(*[{**TEXT, **SHORT}] * 4)],
        [user(*[{**TEXT, **SHORT}] * 3)],
        known(automatic_mark=True),
    ),
    a("A13", 1, [ASK, assistant({**HIDDEN, **SHORT}, TEXT)], [ASK, assistant(HIDDEN, {**TEXT, **SHORT})]),
    a("A13", 0, [user({**TEXT, **SHORT}, {**TEXT, **LONG})], [user({**TEXT, **LONG}, {**TEXT, **SHORT})]),
    a("A13", 0, [user({**TEXT, **LONG})], [user({**TEXT, **SHORT})], known(tools=({"name": "t", **SHORT},))),
    a("A14", 1, [ASK, assistant(BLOCK)], [assistant(BLOCK), ASK]),
    a("A14", 0, [assistant(BLOCK, BLOCK), ASK], [assistant(BLOCK), ASK]),
    a("A14", 0, [assistant({**BLOCK, "signature": None}), ASK], [assistant(BLOCK), ASK]),
    a("A14", 0, [assistant({**BLOCK, "encrypted_content": None}), ASK], [assistant(BLOCK), ASK]),
    a(
        "A14",
        0,
        [assistant(BLOCK), ASK],
        [assistant(BLOCK), ASK],
        known(betas=frozenset()),
        known(betas=frozenset({"compact-2026-09-04"})),
    ),
    a(
        "A14",
        0,
        [assistant({**BLOCK, "content": "so near"}), ASK],
        [assistant({**BLOCK, **SHORT}), ASK],
        known(received=(assistant(BLOCK),)),
    ),
    milder(
        WARNING,
        a(
            "A15",
            1,
            [assistant(BLOCK), user(TEXT)],
            [assistant(BLOCK), ASK],
            known(covered=frozenset({fingerprint(ANTHROPIC, {"role": "user", "content": "x"})})),
        ),
    ),
    a("A16", 2, [ASK, DONE, RULE], [ASK, DONE, ASK, RULE]),
    a(
        "A16",
        1,
        [user(BLOCK), RULE, assistant(THOUGHT, TEXT)],
        [user(BLOCK), ASK, RULE, assistant(THOUGHT, TEXT)],
    ),
    a("A17", 1, [ASK, assistant(FOUND)], [ASK, assistant(SEARCH, FOUND)]),
    a("A17", 1, [ASK, assistant(FOUND, SEARCH), ASK], [ASK, assistant(SEARCH, FOUND), ASK]),
    a("A17", 1, [ASK, assistant(SEARCH), ASK], [ASK, assistant(SEARCH)]),
    a(
        "A18",
        0,
        [user({"type": "image", "source": {**PICTURE["source"], "media_type": "image/bmp"}})],
        [user(PICTURE)],
    ),
    a("A18", 0, [user({"type": "image", "source": {"type": "path"}})], [user(PICTURE)]),
    a("A18", 0, [user({"type": "document", "source": {"type": "base64", "media_type": "x"}})], [user(PAPER)]),
    a(
        "A18",
        2,
        [ASK, assistant(CALL), user({**RESULT, "content": [HIDDEN]})],
        [ASK, assistant(CALL), user({**RESULT, "content": [PICTURE]})],
    ),
    a("A19", 1, [ASK, {**DONE, "parsed_output": {}}], [ASK, DONE]),
    a(
        "A19",
        1,
        [ASK, assistant({**TEXT, "parsed_output": {}})],
        [ASK, assistant({**TEXT, "citations": None})],
    ),
    a(
        "A19",
        0,
        [assistant({"type": "compaction", "content": "so far", "tool_changes": None}), ASK],
        [assistant({"type": "compaction", "content": None}), ASK],
    ),
    milder(
        HOUSE,
        a(
            "A20",
            1,
            [ASK, assistant(CALL), user(RESULT)],
            [ASK, assistant(CALL), user(RESULT)],
            known(tools=()),
            known(tools=({"name": "t"},)),
        ),
    ),
    a(
        "A21",
        1,
        [ASK, user({**TEXT, "text": "x" * 2**25})],
        [ASK, user({**TEXT, "text": "x" * (2**25 - 200)})],
    ),
    a("A21", OUTSIDE, [ASK], [ASK], known(system="x" * 2**25), known(system="x")),
    # ------------------------------------------------------------------------------------------------- responses
    o("O1", 1, [ASK, ITEM_USE], [ASK, ITEM_USE, ITEM_RESULT]),
    o("O1", 1, [ASK, ITEM_USE, ASK], [ASK, ITEM_USE, ITEM_RESULT, ASK]),
    o("O1", 2, [ITEM_USE, ITEM_RESULT, ITEM_RESULT], [ITEM_USE, ITEM_RESULT]),
    o("O2", 0, [ITEM_RESULT], [ITEM_USE, ITEM_RESULT]),
    o(
        "O2",
        0,
        [ITEM_RESULT],
        [ITEM_RESULT],
        known(previous_response_id="resp_1", chain_call_ids=frozenset()),
        known(previous_response_id="resp_1", chain_call_ids=frozenset({"a"})),
    ),
    o("O2", 0, [ITEM_RESULT], [ITEM_RESULT], known(), known(previous_response_id="resp_1")),
    o("O3", 0, [CUSTOM_RESULT], [CUSTOM_USE, CUSTOM_RESULT]),
    o("O3", 0, [CUSTOM_USE, ASK], [CUSTOM_USE, CUSTOM_RESULT, ASK]),
    o("O4", 1, [ASK, REASONING, ASK], [ASK, REASONING, DONE, ASK]),
    o("O4", 1, [ASK, REASONING], [ASK, REASONING, ITEM_USE, ITEM_RESULT]),
    milder(WARNING, o("O4", 1, [ASK, UNNAMED, ASK], [ASK, UNNAMED, DONE])),
    o("O5", 0, [REASONING, DONE], [{**REASONING, "encrypted_content": "ZW5j"}, DONE], known(store=False)),
    o(
        "O5",
        0,
        [{"type": "item_reference", "id": "msg_1"}],
        [{"type": "item_reference", "id": "msg_1"}],
        known(store=False),
        known(store=True),
    ),
    o("O6", 0, [{**REASONING, "summary": None}, DONE], [REASONING, DONE]),
    o(
        "O6",
        0,
        [{**REASONING, "content": [{"type": "reasoning_text"}]}, DONE],
        [{**REASONING, "content": []}, DONE],
    ),
    o("O7", 2, [{**DONE, "id": "msg_1"}, ASK, {**DONE, "id": "msg_1"}], [{**DONE, "id": "msg_1"}, ASK, DONE]),
    milder(
        WARNING,
        o("O7", 1, [{**ASK, "id": "my_ask"}, {**ASK, "id": "my_ask"}], [{**ASK, "id": "my_ask"}, ASK]),
    ),
    o("O7", 0, [{**DONE, "id": "msg_1"}], [DONE], known(chain_item_ids=frozenset({"msg_1"}))),
    o("O8", 0, [TRIGGER, ASK], [ASK, TRIGGER]),
    milder(WARNING, o("O9", 0, [ASK, ITEM], [ITEM, ASK], known(compact_output=(ITEM,)))),
    milder(WARNING, o("O9", OUTSIDE, [ASK], [ASK, ITEM], known(compact_output=(ASK, ITEM)))),
    milder(WARNING, o("O9", OUTSIDE, [ASK], [ITEM], known(server_compaction=True, received=(DONE, ITEM)))),
    o("O10", 0, [{"type": "new_call", "call_id": ""}], [{"type": "new_call", "call_id": "a"}]),
    o("O10", 0, [{"type": "new_call", "call_id": "a" * 65}], [{"type": "new_call", "call_id": "a" * 64}]),
    o("O10", 0, [{**ITEM_USE, "arguments": {}}, ITEM_RESULT], [ITEM_USE, ITEM_RESULT]),
    o("O10", 1, [ITEM_USE, {**ITEM_RESULT, "output": "x" * 10_485_761}], [ITEM_USE, ITEM_RESULT]),
    milder(WARNING, o("O11", 0, [DONE], [PHASED], known(received=(PHASED,)))),
    o("O12", 0, [{**ASK, "content": [{"type": "output_text", "text": "x"}]}], [ASK]),
    o("O12", 0, [{**DONE, "content": [{"type": "input_text", "text": "x"}]}], [DONE]),
    o(
        "O13",
        OUTSIDE,
        [ASK],
        [ASK],
        known(previous_response_id="resp_1", conversation="conv_1"),
        known(previous_response_id="resp_1", conversation=""),
    ),
    o("O14", 0, [{"type": "compaction", "encrypted_content": ""}], [ITEM]),
    o("O14", 0, [{**ITEM, "encrypted_content": "eHl6"}], [ITEM], known(received=(ITEM,))),
    o(
        "O14",
        0,
        [ITEM],
        [ITEM],
        known(compaction_organization="ours", organization="theirs"),
        known(compaction_organization="ours", organization="ours"),
    ),
    milder(
        WARNING,
        o(
            "O14",
            0,
            [ITEM],
            [ITEM],
            known(compaction_model="gpt-6.1", model="gpt-5.6"),
            known(compaction_model="gpt-6.1", model="gpt-6.1-sol"),
        ),
    ),
    # ------------------------------------------------------------------------------------------------------ chat
    c("C1", 1, [ASK, CHAT_USE], [ASK, CHAT_USE, CHAT_RESULT]),
    c("C1", 0, [CHAT_USE, ASK], [CHAT_USE, CHAT_RESULT, ASK]),
    c("C2", 1, [ASK, CHAT_RESULT], [CHAT_USE, CHAT_RESULT]),
    c("C2", 2, [CHAT_USE, CHAT_RESULT, CHAT_RESULT], [CHAT_USE, CHAT_RESULT]),
    c("C3", 1, [ASK, {"role": "assistant", "content": None}], [ASK, {"role": "assistant", "refusal": "no"}]),
    c("C4", 0, [{"role": "user", "content": []}], [ASK]),
    c("C4", 1, [CHAT_USE, {**CHAT_RESULT, "content": [{"type": "image_url"}]}], [CHAT_USE, CHAT_RESULT]),
    milder(HOUSE, c("C5", 1, [ASK, ASK], [ASK], known(alternating_roles=True))),
    milder(HOUSE, c("C6", 1, [ASK, RULE], [RULE, ASK], known(normalized=True))),
    milder(HOUSE, c("C6", 0, [RULE, ASK], [ASK], known(summary_at=0))),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_smallest_breach_is_found_and_its_mending_is_clean(example: Example) -> None:
    """That rule and no other, at that place; then nothing."""
    found = validate(example.wire, example.broken, request=example.request)
    assert [(one.id, one.severity, one.index) for one in found] == [
        (example.id, example.severity, example.at)
    ]
    assert validate(example.wire, example.mended, request=example.request_when_mended) == ()
    assert is_valid(example.wire, example.broken, request=example.request) is (example.severity is not ERROR)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if len(one.broken) < MANY], ids=str)
def test_every_rule_can_be_switched_off(example: Example) -> None:
    """By its id, by its severity, or by naming others."""
    others = Rules(severities=frozenset(Severity) - {example.severity})
    for rules in (ALL.without(example.id), others, ALL.narrowed("none")):
        assert validate(example.wire, example.broken, request=example.request, rules=rules) == ()
    assert validate(example.wire, example.broken, request=example.request, rules=ALL.narrowed(example.id))


def test_every_row_of_the_table_has_an_example() -> None:
    """Rows of one id too: each part of a rule is broken by one of the examples."""
    fired: set[Check] = set()
    for example in EXAMPLES:
        for check in CHECKS[example.wire]:
            rest = tuple(one for one in CHECKS[example.wire] if one is not check)
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(CHECKS, example.wire, (check,))
                if check.id == example.id and len(example.broken) < MANY and rest:
                    fired |= (
                        {check} if validate(example.wire, example.broken, request=example.request) else set()
                    )
    big = {check for check in CHECKS[ANTHROPIC] if check.id == "A1"}
    assert set(chain.from_iterable(CHECKS.values())) - fired - big == set()


def test_the_table_holds_every_rule() -> None:
    """A1 to A21, O1 to O14, C1 to C6, with what each says and rests on."""
    expected = {
        ANTHROPIC: {f"A{number}" for number in range(1, 22)} - {"A9"} | {"A9a", "A9b", "A9c"},
        RESPONSES: {f"O{number}" for number in range(1, 15)},
        CHAT: {f"C{number}" for number in range(1, 7)},
    }
    assert {wire: {check.id for check in checks} for wire, checks in CHECKS.items()} == expected
    fields = set(RequestFacts.__dataclass_fields__)
    for check in chain.from_iterable(CHECKS.values()):
        assert check.says
        assert check.source
        assert fields >= set(check.needs), check


def test_rules_without_their_facts_are_silent_and_say_so() -> None:
    """A4 needs the model; with it, it is asked."""
    assert validate(ANTHROPIC, [ASK, DONE]) == ()
    assert {check.id for check in silent_checks(ANTHROPIC)} == {
        *("A3", "A4", "A9a", "A9c", "A10", "A11", "A12", "A14", "A15", "A20")
    }
    assert {check.id for check in silent_checks(RESPONSES)} == {"O5", "O7", "O9", "O11", "O13", "O14"}
    assert {check.id for check in silent_checks(CHAT)} == {"C5", "C6"}
    assert "A4" not in {check.id for check in silent_checks(ANTHROPIC, RequestFacts(model="claude-5"))}
    assert "A4" not in {check.id for check in silent_checks(ANTHROPIC, rules=ALL.without("A4"))}
    assert silent_checks(CHAT, rules=ERRORS) == ()


def test_the_fields_of_blocks_are_those_of_the_vendors_sdk() -> None:
    """Names, and which may be null but for two that the API refuses."""
    theirs: dict[str, set[str]] = {}
    nullable: dict[str, set[str]] = {}
    blocks = typing.get_args(beta_content_block_param.BetaContentBlockParam)
    for block in (*blocks, *typing.get_args(beta_tool_result_block_param.Content)):
        if not typing_extensions.is_typeddict(block):
            continue
        hints = typing.get_type_hints(block)
        for kind in typing.get_args(hints["type"]):
            theirs[kind] = set(hints)
            nullable[kind] = {name for name, hint in hints.items() if type(None) in typing.get_args(hint)}
    assert {kind: set(fields) for kind, fields in FIELDS.items()} == theirs
    ours = {kind: {*NULLABLE.get(kind, ()), *({"cache_control"} & fields)} for kind, fields in theirs.items()}
    nullable["compaction"] -= {"encrypted_content", "signature", "tool_changes"}
    assert ours == nullable
    in_a_result = typing.get_args(beta_tool_result_block_param.Content)
    kinds = (typing.get_args(typing.get_type_hints(one)["type"])[0] for one in in_a_result)
    assert set(kinds) == IN_A_RESULT
    parts = typing.get_args(response_input_content_param.ResponseInputContentParam)
    assert {part.__name__.removeprefix("Response").removesuffix("Param") for part in parts} == {
        "InputText",
        "InputImage",
        "InputFile",
    }


def test_the_reference_page_is_what_the_table_says() -> None:
    """docs/reference/validity-rules.md is what `make docs` writes."""
    assert RULES_PAGE.read_text(encoding="utf-8") == rules_page()
