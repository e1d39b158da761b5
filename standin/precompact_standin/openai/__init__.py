"""The OpenAI protocols: Responses with its compaction, and Chat Completions."""

from __future__ import annotations

from precompact_standin.openai.chat import chat
from precompact_standin.openai.compacting import compact
from precompact_standin.openai.counted import input_tokens
from precompact_standin.openai.errors import faulty, refused
from precompact_standin.openai.headers import key_of
from precompact_standin.openai.responses import responses

__all__ = ["chat", "compact", "faulty", "input_tokens", "key_of", "refused", "responses"]
