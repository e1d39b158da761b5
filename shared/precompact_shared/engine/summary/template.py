"""What a writer of a summary is asked for: the preset's words and its headings, each with what belongs under it."""

from __future__ import annotations

from collections.abc import Sequence

from precompact_shared.engine.preset import Preset, Section


def template(preset: Preset) -> str:
    """The preset's instructions and an empty form of its sections; byte-stable."""
    return _joined(preset.summary.instructions, preset.summary.sections)


def split_template(preset: Preset) -> str:
    """The form for the head of a turn that the cut divides; empty where the preset has none."""
    sections = preset.summary.split_sections
    return _joined(preset.summary.instructions, sections) if sections else ""


def _joined(instructions: str, sections: Sequence[Section]) -> str:
    forms = ["\n".join(filter(None, (one.heading, f"({one.asks})", one.closing))) for one in sections]
    return "\n\n".join(filter(None, (instructions, *forms)))
