"""Rules of OpenAI Chat Completions."""

from __future__ import annotations

from precompact_shared.engine.validate.openai_chat import calls, contents, order

CHECKS = (*calls.CHECKS, *contents.CHECKS, *order.CHECKS)
