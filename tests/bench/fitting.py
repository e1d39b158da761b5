"""Fitting the rates of a model family to recorded growths: robust least squares towards a prior, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from precompact_shared.engine.estimate import Load, Rates
from precompact_shared.engine.tokens import DOCUMENT_TOKENS, IMAGE_TOKENS

ROUNDS = 10
PULL = 1e-3
"""Weight of the prior, relative to the evidence: it decides only what no growth shows."""
NOISE_TOKENS, NOISE_SHARE = 40.0, 0.05


@dataclass(frozen=True, slots=True)
class Step:
    """What came between two reports, and by how much the prompt grew."""

    load: Load
    growth: float


def fit_older_claude(steps: Iterable[Step], start: Rates) -> Rates:
    """Seven rates on their own; media stay as they are."""
    rows, grown = [], []
    for step in steps:
        load = step.load
        rows.append(
            (load.results, load.arguments, load.spoken, load.given, load.thinking, load.calls, load.keys)
        )
        grown.append(step.growth - IMAGE_TOKENS * load.images - DOCUMENT_TOKENS * load.documents)
    found = _robust(rows, grown, (1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0), PULL)
    results, arguments, spoken, given, thinking, call, key = found
    return replace(
        start,
        results=results,
        arguments=arguments,
        spoken=spoken,
        given=given,
        thinking=thinking,
        call=call,
        key=key,
    )


def fit_newer_claude(steps: Iterable[Step], older: Rates, start: Rates) -> Rates:
    """Too few growths for more than two numbers: one factor on the older texts, and what hidden thinking costs."""
    rows, grown = [], []
    for step in steps:
        text, thinking, structure = older.parts(replace_hidden(step.load))
        media = IMAGE_TOKENS * step.load.images + DOCUMENT_TOKENS * step.load.documents
        rows.append((text - media + thinking, float(step.load.hidden_chars)))
        grown.append(step.growth - structure - media)
    factor, hidden = _robust(rows, grown, (1.3, 0.25), 0.02)
    return replace(
        start,
        results=older.results * factor,
        arguments=older.arguments * factor,
        spoken=older.spoken * factor,
        given=older.given * factor,
        thinking=older.thinking * factor,
        hidden_char=hidden,
        call=older.call,
        key=older.key,
    )


def fit_gpt(steps: Iterable[Step], start: Rates) -> Rates:
    """The tokenizer is known; what a call costs besides is not. `growth` is without reasoning."""
    rows, grown = [], []
    for step in steps:
        rows.append((float(step.load.calls),))
        grown.append(step.growth - start.parts(step.load)[0])
    (call,) = _robust(rows, grown, (0.0,), PULL)
    return replace(start, call=call)


def fit_search(found: Iterable[tuple[int, float]], start: Rates) -> Rates:
    """What a search brings in: `found` are numbers of searches and the growths that nothing else explains."""
    pairs = list(found)
    searches = sum(number for number, _ in pairs)
    return replace(start, search=sum(growth for _, growth in pairs) / searches) if searches else start


def replace_hidden(load: Load) -> Load:
    """The load without what is withheld."""
    return load - Load(hidden_chars=load.hidden_chars)


def _robust(
    rows: Sequence[Sequence[float]], grown: Sequence[float], prior: Sequence[float], pull: float
) -> list[float]:
    """Weighted least squares; what lies more than one deviation off counts as much as if it lay there."""
    size = len(prior)
    sure = [1 / (NOISE_TOKENS + NOISE_SHARE * max(1.0, abs(one))) ** 2 for one in grown]
    scale = [
        pull * sum(w * row[k] ** 2 for w, row in zip(sure, rows, strict=True)) + 1e-9 for k in range(size)
    ]
    trust = [1.0] * len(rows)
    found = list(prior)
    for _ in range(ROUNDS):
        matrix = [[scale[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
        right = [scale[i] * prior[i] for i in range(size)]
        for row, growth, w, t in zip(rows, grown, sure, trust, strict=True):
            for i in range(size):
                if not row[i]:
                    continue
                wi = w * t * row[i]
                right[i] += wi * growth
                for j in range(i, size):
                    matrix[i][j] += wi * row[j]
        for i in range(size):
            for j in range(i):
                matrix[i][j] = matrix[j][i]
        found = _solve(matrix, right)
        off = (
            abs(growth - sum(map(float.__mul__, map(float, row), found)))
            for row, growth in zip(rows, grown, strict=True)
        )
        trust = [min(1.0, 1 / max(1e-9, one * w**0.5)) for one, w in zip(off, sure, strict=True)]
    return found


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for pivot in range(size):
        for below in range(pivot + 1, size):
            share = rows[below][pivot] / rows[pivot][pivot]
            rows[below] = [low - share * high for low, high in zip(rows[below], rows[pivot], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        known = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - known) / rows[row][row]
    return found
