"""The Anthropic Messages protocol."""

from __future__ import annotations

from precompact_standin.anthropic.counted import count_tokens
from precompact_standin.anthropic.endpoint import messages
from precompact_standin.anthropic.errors import faulty, refused
from precompact_standin.anthropic.headers import key_of

__all__ = ["count_tokens", "faulty", "key_of", "messages", "refused"]
