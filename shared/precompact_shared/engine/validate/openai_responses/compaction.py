"""Compaction items: O8, O9, O14."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.validate.check import Check, Severity, Subject, text_of, where
from precompact_shared.engine.validate.request import OUTSIDE, fingerprint

_LONGEST_ENCRYPTED_CHARS = 20_971_520


def _triggers_in_the_middle(subject: Subject) -> Iterable[int]:
    return (at for at, item in enumerate(subject.messages[:-1]) if item.get("type") == "compaction_trigger")


def _prefix_changed(subject: Subject) -> Iterable[int]:
    expected = subject.request.compact_output or ()
    for index, item in enumerate(expected):
        if index >= len(subject.messages):
            yield OUTSIDE
            return
        if not _same(item, subject.messages[index]):
            yield index
            return


def _same(one: Message, other: Message) -> bool:
    """Whether both are one item; the opaque text counts, which `canonical` keeps too."""
    return fingerprint(Format.OPENAI_RESPONSES, one) == fingerprint(Format.OPENAI_RESPONSES, other)


def _later_items_left_out(subject: Subject) -> Iterable[int]:
    received = subject.request.received or ()
    newest = _newest_compaction(received)
    if not subject.request.server_compaction or newest is None:
        return
    present = {fingerprint(subject.format, item) for item in subject.messages}
    if any(fingerprint(subject.format, item) not in present for item in received[newest:]):
        yield OUTSIDE


def _newest_compaction(items: Sequence[Message]) -> int | None:
    places = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
    return places[-1] if places else None


def _is_compaction(item: Message) -> bool:
    return item.get("type") == "compaction"


def _without_content(subject: Subject) -> Iterable[int]:
    return where(subject, lambda item: _is_compaction(item) and not _has_content(item))


def _has_content(item: Message) -> bool:
    return 1 <= len(text_of(item, "encrypted_content")) <= _LONGEST_ENCRYPTED_CHARS


def _changed_content(subject: Subject) -> Iterable[int]:
    known = {
        text_of(item, "encrypted_content") for item in subject.request.received or () if _is_compaction(item)
    }
    return where(
        subject,
        lambda item: (
            _is_compaction(item) and _has_content(item) and text_of(item, "encrypted_content") not in known
        ),
    )


def _of_another_organization(subject: Subject) -> Iterable[int]:
    if subject.request.compaction_organization != subject.request.organization:
        yield from where(subject, _is_compaction)


def _of_another_family(subject: Subject) -> Iterable[int]:
    if _family(subject.request.compaction_model) != _family(subject.request.model):
        yield from where(subject, _is_compaction)


def _family(model: str | None) -> tuple[str, ...]:
    """`gpt-6.1-sol` and `gpt-6.1` are one family."""
    return tuple((model or "").lower().split("-")[:2])


CHECKS = (
    Check("O8", Severity.ERROR, "`compaction_trigger` only as the last item", "doc", _triggers_in_the_middle),
    Check(
        "O9",
        Severity.WARNING,
        "behind `/responses/compact` its output list is the prefix, unmodified",
        "doc",
        _prefix_changed,
        ("compact_output",),
    ),
    Check(
        "O9",
        Severity.WARNING,
        "in server-side mode the newest compaction item and everything received later are there",
        "doc",
        _later_items_left_out,
        ("server_compaction", "received"),
    ),
    Check(
        "O14", Severity.ERROR, "a compaction item has its `encrypted_content`", "doc, spec", _without_content
    ),
    Check("O14", Severity.ERROR, "and that is as received", "doc", _changed_content, ("received",)),
    Check(
        "O14",
        Severity.ERROR,
        "and used in the organisation that made it",
        "doc",
        _of_another_organization,
        ("compaction_organization", "organization"),
    ),
    Check(
        "O14",
        Severity.WARNING,
        "and safest with the same model family",
        "doc",
        _of_another_family,
        ("compaction_model", "model"),
    ),
)
