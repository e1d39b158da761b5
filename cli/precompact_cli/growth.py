"""How large the prompt would be behind each entry if nothing were ever compacted: held to what was reported."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

from precompact_cli.recording import Recording

_FIRST_CALLS = 3
"""Of these the smallest rest is what every prompt holds besides: the system text and tools that logs leave out."""
_DROP = 0.5
"""A prompt that shrinks by more than this from one call to the next belongs to another context."""
_PLAUSIBLE = 0.6
"""A count below this share of our own estimate was taken of less than the whole history."""
_LEAST_SCALE, _MOST_SCALE = 0.5, 2.0
"""What a token of ours may be to the provider where one report alone tells it."""

Anchors = Sequence[tuple[int, int]]
"""(entries, tokens of the whole prompt with so many), in order."""


def prompt_sizes(recording: Recording, upto: Sequence[int], known: int) -> array[int]:
    """Tokens of the prompt with the first n entries, for n from 0.

    At a call that was reported it is the reported size, between two of them it grows as the estimates do, behind the
    last one by the estimates times what the reports were to them. `upto`: estimated tokens of the first n entries;
    `known`: those of system text and tools, which are all that is added where nothing was reported.
    """
    anchors = whole_reports(recording, upto)
    if not anchors:
        return array("q", (known + tokens for tokens in upto))
    fixed = _fixed(anchors, upto)
    last, reported = anchors[-1]
    scale = (reported - fixed) / upto[last] if upto[last] else 1.0
    scale = min(_MOST_SCALE, max(_LEAST_SCALE, scale))
    first, size = anchors[0]
    sizes = array("q", (max(0, size - round(scale * (upto[first] - tokens))) for tokens in upto[:first]))
    for (start, before), (stop, after) in pairwise(anchors):
        rate = (after - before) / max(1, upto[stop] - upto[start])
        sizes.extend(before + round(rate * (tokens - upto[start])) for tokens in upto[start:stop])
    sizes.extend(reported + round(scale * (tokens - upto[last])) for tokens in upto[last:])
    return sizes


def whole_reports(recording: Recording, upto: Sequence[int]) -> Anchors:
    """The reports that are of the whole history up to their call: the newest run that can be."""
    found: list[tuple[int, int]] = []
    for call in recording.calls:
        if call.reported and (not found or call.prefix > found[-1][0]):
            found.append((call.prefix, call.reported))
    runs: list[list[tuple[int, int]]] = []
    for one in found:
        if not runs or one[1] < _DROP * runs[-1][-1][1]:
            runs.append([])
        runs[-1].append(one)
    whole = [run for run in runs if all(size >= _PLAUSIBLE * upto[place] for place, size in run)]
    return whole[-1] if whole else ()


def _fixed(anchors: Anchors, upto: Sequence[int]) -> int:
    return max(0, min(size - upto[place] for place, size in anchors[:_FIRST_CALLS]))
