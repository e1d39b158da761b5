"""What each system clears, as its chapter in the facts on seed systems says; lines marked ours fill what it leaves open."""

from __future__ import annotations

from precompact_shared.engine.catalogue import ToolKind
from precompact_shared.engine.clearing import ClearingRule, ClearMode, KindRule
from precompact_shared.engine.shorten import Ends, Unit

OPENCODE_V1 = ClearingRule(
    clearable=tuple(kind for kind in ToolKind if kind is not ToolKind.SKILL),
    protected=("skill",),
    exempt_user_turns=2,
    protect_tokens=40_000,  # PRUNE_PROTECT
    min_saving_tokens=20_000,  # PRUNE_MINIMUM
    stops_at_cleared=True,
)
"""Chapter 2, Prune and behaviour 34."""

GEMINI_MASKING = ClearingRule(
    mode=ClearMode.COLLAPSE,
    ends=Ends(Unit.CHARACTERS, 250, 250),
    kinds=(KindRule(ToolKind.SHELL, ClearMode.COLLAPSE, Ends(Unit.LINES, 10, 10)),),
    clearable=tuple(kind for kind in ToolKind if kind not in (ToolKind.SKILL, ToolKind.ASK, ToolKind.PLAN)),
    exempt_tool_turns=1,  # the newest turn
    protect_tokens=50_000,
    min_saving_tokens=30_000,
)
"""Chapter 4, Prune and behaviour 20."""

GEMINI_CUT = ClearingRule(
    mode=ClearMode.COLLAPSE,
    ends=Ends(Unit.CHARACTERS, 8_000, 32_000),
    protect_tokens=50_000,
)
"""Chapter 4, Cut and behaviours 5 and 7: what is cut when a conversation is compressed."""

GEMINI_NEWER = ClearingRule(
    mode=ClearMode.COLLAPSE,
    ends=Ends(Unit.BYTES, 512, 512, over=2_048),  # 512 at each end: ours
    protected=("read_file", "read_many_files", "grep", "grep_search", "search_file_content", "glob"),
    exempt_tool_turns=3,
)
"""Chapter 4, Cut ("newer") and behaviours 8 and 10."""

GEMINI_STORED = ClearingRule(mode=ClearMode.COLLAPSE, ends=Ends(Unit.BYTES, 32_768, 32_768))
"""Chapter 4, Cut ("newer") and behaviour 9: no output is stored with more than 64 KB."""

CLAUDE_CODE = ClearingRule(
    clearable=(ToolKind.READ, ToolKind.SEARCH, ToolKind.WRITE, ToolKind.SHELL),
    keep_recent=5,  # 3, 5 or 6 by version
    min_saving_tokens=20_000,
)
"""Chapter 5, Prune and behaviours 4 and 5. Web tools are of kind `search`."""

ANTHROPIC_CONTEXT_EDITING = ClearingRule(keep_recent=3, from_tokens=100_000)
"""Chapter 6, Prune and behaviour 12: `clear_tool_uses_20250919` without settings."""

OURS = ClearingRule(
    clearable=(ToolKind.READ, ToolKind.SEARCH, ToolKind.WRITE, ToolKind.SHELL, ToolKind.RECALL),
    exempt_tool_turns=3,
    keep_recent=5,
    protect_tokens=20_000,
    min_saving_tokens=20_000,
)
"""The preset `precompact`."""

SYSTEMS = {
    "opencode": OPENCODE_V1,
    "gemini-cli masking": GEMINI_MASKING,
    "gemini-cli cut": GEMINI_CUT,
    "gemini-cli newer": GEMINI_NEWER,
    "gemini-cli stored": GEMINI_STORED,
    "claude-code": CLAUDE_CODE,
    "anthropic-native": ANTHROPIC_CONTEXT_EDITING,
    "precompact": OURS,
}

PRESETS = {
    "opencode": OPENCODE_V1,
    "gemini-cli": GEMINI_MASKING,
    "claude-code": CLAUDE_CODE,
    "anthropic-native": ANTHROPIC_CONTEXT_EDITING,
    "precompact": OURS,
}
"""What the presets that clear anything say."""
