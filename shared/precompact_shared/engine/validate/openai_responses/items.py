"""Ids, sizes and parts of items: O7, O10, O11, O12, O13."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from precompact_shared.engine.types import Format, Message, Role
from precompact_shared.engine.validate.check import (
    Check,
    Severity,
    Subject,
    inner_parts,
    is_assistant,
    parts_of,
    text_of,
    where,
)
from precompact_shared.engine.validate.request import OUTSIDE, fingerprint

_ISSUED = re.compile(r"[a-z]+_(?=[0-9A-Za-z]*\d)[0-9A-Za-z]+")
"""An id as the provider gives it, a prefix and a number; clients name items with words."""
_NAMES_ANOTHER = frozenset({"item_reference", "local_shell_call_output"})
_LONGEST_CALL_ID_CHARS = 64
_LONGEST_OUTPUT_CHARS = 10_485_760
_USER_PARTS = frozenset({"input_text", "input_image", "input_file"})
_ASSISTANT_PARTS = frozenset({"output_text", "refusal"})


def _repeated_ids(subject: Subject) -> Iterator[int]:
    return (index for index, item_id in _repeats(subject) if _ISSUED.fullmatch(item_id))


def _repeated_names(subject: Subject) -> Iterator[int]:
    return (index for index, item_id in _repeats(subject) if not _ISSUED.fullmatch(item_id))


def _repeats(subject: Subject) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for index, item_id in _ids(subject):
        if item_id in seen:
            yield index, item_id
        seen.add(item_id)


def _ids(subject: Subject) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(subject.messages):
        item_id = text_of(item, "id")
        if item_id and text_of(item, "type") not in _NAMES_ANOTHER:
            yield index, item_id


def _replayed(subject: Subject) -> Iterable[int]:
    chain = subject.request.chain_item_ids or frozenset()
    return (index for index, item_id in _ids(subject) if item_id in chain)


def _wrong_sizes(subject: Subject) -> Iterable[int]:
    return where(subject, _has_wrong_size)


def _has_wrong_size(item: Message) -> bool:
    call_id = item.get("call_id")
    if isinstance(call_id, str) and not 1 <= len(call_id) <= _LONGEST_CALL_ID_CHARS:
        return True
    if item.get("type") == "function_call" and not isinstance(item.get("arguments"), str):
        return True
    return "call_id" in item and _chars(item.get("output")) > _LONGEST_OUTPUT_CHARS


def _chars(output: Any) -> int:
    if isinstance(output, str):
        return len(output)
    return sum(len(text_of(part, "text")) for part in inner_parts({"content": output}))


def _wrong_phases(subject: Subject) -> Iterable[int]:
    phases: dict[str, list[Any]] = {}
    for item in subject.request.received or ():
        if is_assistant(item):
            phases.setdefault(_without_phase(item), []).append(item.get("phase"))
    for index, item in enumerate(subject.messages):
        if is_assistant(item) and item.get("phase") not in phases.get(
            _without_phase(item), [item.get("phase")]
        ):
            yield index


def _without_phase(item: Message) -> str:
    return fingerprint(Format.OPENAI_RESPONSES, {key: value for key, value in item.items() if key != "phase"})


def _swapped_parts(subject: Subject) -> Iterable[int]:
    for index, (item, facts) in enumerate(zip(subject.messages, subject.facts, strict=True)):
        parts = parts_of(item) if "role" in item else []
        allowed = _ASSISTANT_PARTS if facts.role is Role.ASSISTANT else _USER_PARTS
        if any(text_of(part, "type") not in allowed for part in parts):
            yield index


def _two_pasts(subject: Subject) -> Iterable[int]:
    if subject.request.previous_response_id and subject.request.conversation:
        yield OUTSIDE


CHECKS = (
    Check("O7", Severity.ERROR, "no item id of the provider's twice", "thread", _repeated_ids),
    Check(
        "O7",
        Severity.WARNING,
        "no name a client gave to an item twice (recorded sessions went on with it)",
        "thread",
        _repeated_names,
    ),
    Check(
        "O7",
        Severity.ERROR,
        "nothing replayed that the chain of `previous_response_id` holds already",
        "thread",
        _replayed,
        ("chain_item_ids",),
    ),
    Check(
        "O10",
        Severity.ERROR,
        "a call_id has 1 to 64 characters, an output 10,485,760 at most, and `arguments` is a string",
        "spec",
        _wrong_sizes,
    ),
    Check(
        "O11",
        Severity.WARNING,
        "assistant messages keep the `phase` they came with",
        "sdk",
        _wrong_phases,
        ("received",),
    ),
    Check(
        "O12",
        Severity.ERROR,
        "user parts are input_text, input_image, input_file, assistant parts output_text, refusal; never swapped",
        "sdk",
        _swapped_parts,
    ),
    Check(
        "O13",
        Severity.ERROR,
        "`previous_response_id` and `conversation` never together",
        "sdk",
        _two_pasts,
        ("previous_response_id", "conversation"),
    ),
)
