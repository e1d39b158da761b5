"""Which part types are media, and how a transcript shows a part that is not plain text."""

from __future__ import annotations

from typing import Any

IMAGES = frozenset({"image", "image_url", "input_image", "computer_screenshot"})
DOCUMENTS = frozenset({"document", "file", "input_file", "container_upload"})
AUDIO = frozenset({"audio", "input_audio"})


def media_label(part: dict[str, Any]) -> str | None:
    """`[image]`, `[document]` or `[audio]` for a media part, else None."""
    kind = part.get("type")
    if kind in IMAGES:
        return "[image]"
    if kind in DOCUMENTS:
        return "[document]"
    return "[audio]" if kind in AUDIO else None


def readable(content: Any) -> str:
    """The text of content as a transcript shows it: text parts joined by newlines, media as labels.

    Takes a string, a list of parts, one part, or anything else (which reads as nothing). Thinking, signatures
    and encrypted text read as nothing.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(readable, content) if text)
    return _readable_part(content) if isinstance(content, dict) else ""


def _readable_part(part: dict[str, Any]) -> str:
    label = media_label(part)
    if label is not None:
        return label
    for key in ("text", "refusal", "content", "output", "stdout", "title"):
        if key in part and part.get("type") not in {"thinking", "redacted_thinking", "reasoning_text"}:
            return readable(part[key])
    return ""


def shown_call(name: str, arguments: str) -> str:
    """One call as a transcript shows it."""
    return f"[call {name}({arguments})]"
