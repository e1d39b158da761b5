"""Names of who may write a demo's summaries; apart, so that help can name them without reading anything else."""

from __future__ import annotations

from enum import StrEnum


class Writer(StrEnum):
    """Who writes summaries."""

    SCRIPTED = "scripted"
    """Code, after a set delay."""
    EXTRACTIVE = "extractive"
    """Code, at once."""
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
