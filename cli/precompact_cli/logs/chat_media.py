"""Images in the words of Chat Completions, whose tool messages cannot hold any: a user's message behind them does."""

from __future__ import annotations

from collections.abc import Sequence

from precompact_shared.engine.types import Message


def image_part(url: str) -> Message:
    """A part of a message; `url` may hold the image itself."""
    return {"type": "image_url", "image_url": {"url": url}}


def with_images(text: str, images: Sequence[Message]) -> str | list[Message]:
    """Text alone, or a list of it and of images."""
    return [*([{"type": "text", "text": text}] if text else []), *images] if images else text


def shown_by_tools(images: Sequence[Message]) -> list[Message]:
    """The message that holds what the results before it showed; none where they showed nothing."""
    return [{"role": "user", "content": list(images)}] if images else []
