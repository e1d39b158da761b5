"""The provider's compaction block: A14, A15."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, parts_of, text_of
from precompact_shared.engine.validate.request import fingerprint

_ON_DEMAND = "compact-2026-09-04"


def _signed_blocks(subject: Subject) -> Iterator[tuple[int, int, Message]]:
    for index, message in enumerate(subject.messages):
        for place, part in enumerate(parts_of(message)):
            if part.get("type") == "compaction" and "signature" in part:
                yield index, place, part


def _misplaced(subject: Subject) -> Iterable[int]:
    return (index for index, place, _ in _signed_blocks(subject) if (index, place) != (0, 0))


def _incomplete(subject: Subject) -> Iterable[int]:
    for index, _, block in _signed_blocks(subject):
        whole = text_of(block, "content").strip() and text_of(block, "signature")
        if not whole or any(value is None for value in block.values()):
            yield index


def _without_header(subject: Subject) -> Iterable[int]:
    if _ON_DEMAND not in (subject.request.betas or ()):
        yield from (index for index, _, _ in _signed_blocks(subject))


def _edited(subject: Subject) -> Iterable[int]:
    received = [part for message in subject.request.received or () for part in parts_of(message)]
    known = {text_of(part, "signature"): _unmarked(part) for part in received if "signature" in part}
    for index, _, block in _signed_blocks(subject):
        if known.get(text_of(block, "signature"), _unmarked(block)) != _unmarked(block):
            yield index


def _unmarked(block: Message) -> Message:
    return {key: value for key, value in block.items() if key != "cache_control"}


def _summarised_and_kept(subject: Subject) -> Iterable[int]:
    covered = subject.request.covered or frozenset()
    for index, message in enumerate(subject.messages):
        if fingerprint(subject.format, message) in covered:
            yield index


CHECKS = (
    Check(
        "A14",
        Severity.ERROR,
        "a signed `compaction` block opens the first message and occurs once",
        "doc",
        _misplaced,
    ),
    Check("A14", Severity.ERROR, "it has text, its own signature and no nulls", "doc", _incomplete),
    Check(
        "A14",
        Severity.ERROR,
        "it travels with the beta header it was made under",
        "doc",
        _without_header,
        ("betas",),
    ),
    Check("A14", Severity.ERROR, "it is as it was received", "doc", _edited, ("received",)),
    Check(
        "A15",
        Severity.WARNING,
        "none of the summarised messages stays behind the block or summary",
        "doc",
        _summarised_and_kept,
        ("covered",),
    ),
)
