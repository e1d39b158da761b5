"""The shape of blocks: A12, A18, A19."""

from __future__ import annotations

from collections.abc import Iterable

from precompact_shared.engine.types import Message
from precompact_shared.engine.validate.anthropic.fields import (
    DOCUMENT_TYPES,
    FIELDS,
    IMAGE_SOURCES,
    IMAGE_TYPES,
    IN_A_RESULT,
    MARK,
    MESSAGE_FIELDS,
    NULLABLE,
)
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

_STRICT_SINCE = "2026-10-21"


def _what_the_new_version_refuses(subject: Subject) -> Iterable[int]:
    if (subject.request.api_version or "") < _STRICT_SINCE:
        return ()
    return where(subject, _has_misplaced_sources)


def _has_misplaced_sources(message: Message) -> bool:
    if is_assistant(message):
        return any(part.get("type") == "document" for part in parts_of(message))
    return any(part.get("type") == "text" and bool(part.get("citations")) for part in parts_of(message))


def _wrong_media(subject: Subject) -> Iterable[int]:
    return where(subject, _has_wrong_media)


def _has_wrong_media(message: Message) -> bool:
    for part in parts_of(message):
        inner = inner_parts(part) if part.get("type") == "tool_result" else []
        if any(text_of(one, "type") not in IN_A_RESULT for one in inner):
            return True
        if any(_is_wrong_medium(one) for one in (part, *inner)):
            return True
    return False


def _is_wrong_medium(part: Message) -> bool:
    kind = part.get("type")
    if kind not in ("image", "document"):
        return False
    source = part.get("source")
    if not isinstance(source, dict):
        return True
    return _is_wrong_image(source) if kind == "image" else _is_wrong_document(source)


def _is_wrong_image(source: Message) -> bool:
    given = text_of(source, "type")
    return given not in IMAGE_SOURCES or (
        given == "base64" and text_of(source, "media_type") not in IMAGE_TYPES
    )


def _is_wrong_document(source: Message) -> bool:
    wanted = DOCUMENT_TYPES.get(text_of(source, "type"))
    return wanted is not None and source.get("media_type") != wanted


def _strange_fields(subject: Subject) -> Iterable[int]:
    return where(subject, _has_strange_fields)


def _has_strange_fields(message: Message) -> bool:
    if not MESSAGE_FIELDS.issuperset(message):
        return True
    return any(_is_strange(one) for part in parts_of(message) for one in (part, *_results_parts(part)))


def _results_parts(part: Message) -> Iterable[Message]:
    return inner_parts(part) if part.get("type") == "tool_result" else ()


def _is_strange(part: Message) -> bool:
    kind = text_of(part, "type")
    fields = FIELDS.get(kind)
    if fields is None:
        return False
    if not fields.issuperset(part.keys() - {MARK}):
        return True
    if kind == "compaction" and "signature" in part:
        return False  # A14 looks at nulls there
    nullable = NULLABLE.get(kind, frozenset())
    return any(value is None and key != MARK and key not in nullable for key, value in part.items())


CHECKS = (
    Check(
        "A12",
        Severity.ERROR,
        "from version 2026-10-21 on an assistant message has no `document`, a user's text no filled `citations`",
        "doc",
        _what_the_new_version_refuses,
        ("api_version",),
    ),
    Check(
        "A18",
        Severity.ERROR,
        "images come as base64 (jpeg, png, gif, webp), url or file; documents are pdf or text; a tool_result holds "
        "text, image, document, search_result, tool_reference, browser_state and nothing else",
        "sdk",
        _wrong_media,
    ),
    Check(
        "A19",
        Severity.ERROR,
        "no field the API does not know, on messages and on blocks of known type, and no null where it takes none",
        "anthropics/claude-code#84114, anthropics/anthropic-sdk-python#1828",
        _strange_fields,
    ),
)
