"""What Claude Code notes of its own context: what a compaction kept, which results it took out."""

from __future__ import annotations

from typing import Any

from precompact_cli.logs.lines import listed, record, text_of


def kept_by(line: dict[str, Any]) -> tuple[str, str] | None:
    """Names of the first and the last line that the compaction of this line kept word for word; None: it kept none."""
    told = record(line.get("compactMetadata"))
    names = [
        name for one in listed(record(told.get("preservedMessages")).get("uuids")) if (name := text_of(one))
    ]
    if names:
        return names[0], names[-1]
    segment = record(told.get("preservedSegment"))
    first, last = text_of(segment.get("headUuid")), text_of(segment.get("tailUuid"))
    return (first, last) if first and last else None


def cleared_by(line: dict[str, Any]) -> int:
    """How many results were taken out of the main thread's context with this line."""
    if line.get("type") == "content-replacement" and line.get("agentId") is None:
        return len(listed(line.get("replacements")))
    if line.get("type") == "system" and line.get("subtype") == "microcompact_boundary":
        return len(listed(record(line.get("microcompactMetadata")).get("compactedToolIds")))
    return 0
