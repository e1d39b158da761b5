"""Views of a log; apart, so that help can name them without reading anything else."""

from __future__ import annotations

from enum import StrEnum


class View(StrEnum):
    """What is taken of a log in which the tool itself compacted. Other recordings have one view alone."""

    HISTORY = "history"
    """All that was said, as if nothing had ever been compacted."""
    BEFORE = "before"
    """The context up to the first compaction."""
    AFTER = "after"
    """The context behind the last one: what would be sent next."""
