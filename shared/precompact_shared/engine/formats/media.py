"""Which part types are media, and how a transcript shows a part that is not plain text."""

from __future__ import annotations

from typing import Any

from precompact_shared.engine.formats.reading import kind_of

IMAGES = frozenset({"image", "image_url", "input_image", "computer_screenshot"})
DOCUMENTS = frozenset({"document", "file", "input_file", "container_upload"})
AUDIO = frozenset({"audio", "input_audio"})


def media_label(part: dict[str, Any]) -> str | None:
    """`[image]`, `[document]` or `[audio]` for a media part, else None."""
    kind = kind_of(part)
    if kind in IMAGES:
        return "[image]"
    if kind in DOCUMENTS:
        return "[document]"
    return "[audio]" if kind in AUDIO else None


_SPEAKING = ("text", "refusal", "content", "output", "stdout", "title")
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning_text"})
_DEEPEST = 8
"""Levels of lists and parts that are read; a result with parts has four."""


def readable(content: Any) -> str:
    """The text of content as a transcript shows it: text parts joined by newlines, media as labels.

    Takes a string, a list of parts, one part, or anything else (which reads as nothing). Thinking, signatures
    and encrypted text read as nothing.
    """
    return _read(content, _DEEPEST)


def _read(content: Any, levels: int) -> str:
    if isinstance(content, str):
        return content
    if levels == 0:
        return ""
    if isinstance(content, list):
        return "\n".join(text for text in (_read(part, levels - 1) for part in content) if text)
    return _read_part(content, levels - 1) if isinstance(content, dict) else ""


def _read_part(part: dict[str, Any], levels: int) -> str:
    label = media_label(part)
    if label is not None or kind_of(part) in _THINKING:
        return label or ""
    for key in _SPEAKING:
        if key in part:
            return _read(part[key], levels)
    return ""


def shown_call(name: str, arguments: str) -> str:
    """One call as a transcript shows it."""
    return f"[call {name}({arguments})]"
