"""Rules of Anthropic Messages."""

from __future__ import annotations

from precompact_shared.engine.validate.anthropic import (
    calls,
    compaction,
    marks,
    order,
    server_tools,
    shapes,
    size,
    texts,
    thinking,
)

CHECKS = (
    *order.CHECKS,
    *calls.CHECKS,
    *texts.CHECKS,
    *thinking.CHECKS,
    *marks.CHECKS,
    *compaction.CHECKS,
    *server_tools.CHECKS,
    *shapes.CHECKS,
    *size.CHECKS,
)
