"""Rules of OpenAI Responses."""

from __future__ import annotations

from precompact_shared.engine.validate.openai_responses import compaction, items, pairs, reasoning

CHECKS = (*pairs.CHECKS, *reasoning.CHECKS, *items.CHECKS, *compaction.CHECKS)
