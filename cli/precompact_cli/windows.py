"""Which window a recording is played in: its model's, or a smaller one that makes compactions happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from precompact_cli.exits import InputRefused
from precompact_cli.recording import ModelCall, Recording
from precompact_cli.sizes import Sizes
from precompact_shared.engine.limits import LimitOverrides, limits
from precompact_shared.engine.preset import Limits, Preset
from precompact_shared.errors import Configuration
from precompact_shared.models import ModelWindow
from precompact_shared.policy import Policy

LADDER = (200_000, 100_000, 64_000, 32_000, 16_000)
STEPS = tuple(range(190_000, 10_000, -10_000))
"""Looked through when none of the ladder will do: where a large fixed part leaves a narrow choice."""
WANTED = 2
"""Compactions a smaller window should bring."""
_SUMMARY_SHARE = 0.25
"""Of the limit, at most, is reckoned for a summary."""
_ROOM = 100_000
"""Tokens by which a window grows until it holds everything."""
_MOST_LEFT = 0.9
"""Of the limit; a compaction that leaves more brings the next one at once."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A window with its output reserve, in tokens; why it was taken; how many compactions a dry run foresees."""

    window: int
    max_output: int
    why: str
    foreseen: int


def choose_window(recording: Recording, sizes: Sizes, policy: Policy, wanted: int | None = None) -> Choice:
    """The caller's window; else the model's, if the recording reaches its limit; else a smaller one.

    Limits and windows are those of the policy under which it is played.

    The smaller one is the largest of 200k, 100k, 64k, 32k and 16k, failing these the largest multiple of 10k, in which
    a dry run over the recorded calls meets the limit twice; if there is none, once. A recording too short for
    that gets a window that holds it all.
    """
    if wanted is not None:
        return _choice(recording, sizes, policy, wanted, "as asked for")
    own = policy.window_of(recording.model, None, None)
    if own is not None and (choice := _choice(recording, sizes, policy, own.window, "the model's")).foreseen:
        return choice
    for least in range(WANTED, 0, -1):
        for windows in (LADDER, STEPS):
            tried = (_choice(recording, sizes, policy, window, "") for window in windows)
            fitting = next((choice for choice in tried if choice.foreseen >= least), None)
            if fitting is not None:
                return replace(
                    fitting, why=f"the largest in which a dry run foresees {least} or more compactions"
                )
    return _roomy(recording, sizes, policy, max(LADDER[0], own.window if own else 0))


def foresee(sizes: Sizes, calls: Sequence[ModelCall], found: Limits, summary_tokens: int) -> int:
    """How often a call meets the limit when every compaction leaves the fixed part, a full summary and the kept tail.

    A prompt is as large as the provider counted it, less what compactions took. 0 where one would not help: it would
    leave more than nine tenths of the limit.
    """
    after = min(summary_tokens, int(found.limit * _SUMMARY_SHARE)) + found.keep_tokens
    met, left, start = 0, 0, 0
    for call in calls:
        scale = sizes.scale(call)
        if not found.reached(
            round(sizes.fixed + scale * (left + sizes.upto[call.prefix] - sizes.upto[start]))
        ):
            continue
        if sizes.fixed + scale * after > _MOST_LEFT * found.limit:
            return 0
        met, left, start = met + 1, after, call.prefix
    return met


def window_limits(preset: Preset, found: ModelWindow, overrides: LimitOverrides | None = None) -> Limits:
    """The preset's limits in a window. Raises InputRefused when the window leaves no room."""
    try:
        return limits(preset, window=found.window, max_output=found.max_output, overrides=overrides)
    except Configuration:
        raise InputRefused(
            "The window leaves no room beside the output reserve; give a larger one."
        ) from None


def _roomy(recording: Recording, sizes: Sizes, policy: Policy, least: int) -> Choice:
    """A window that holds the largest prompt; for a recording that is too short, or in which no compaction helps."""
    peak = max((sizes.prompt(call) for call in recording.calls), default=0)
    choice = _choice(recording, sizes, policy, least, "the recording is too short for any compaction")
    while _limits(policy, choice).hard < peak:
        why = "holds every prompt; no compaction would help, most of each is not in the file"
        choice = _choice(recording, sizes, policy, choice.window + _ROOM, why)
    return choice


def _limits(policy: Policy, choice: Choice) -> Limits:
    return window_limits(policy.rules, ModelWindow(choice.window, choice.max_output), policy.overrides)


def _choice(recording: Recording, sizes: Sizes, policy: Policy, window: int, why: str) -> Choice:
    found = policy.window_of(recording.model, window, None) or ModelWindow(window, window // 4)
    marks = window_limits(policy.rules, found, policy.overrides)
    foreseen = foresee(sizes, recording.calls, marks, policy.summary_budget)
    return Choice(found.window, found.max_output, why, foreseen)
