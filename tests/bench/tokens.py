"""`make bench-tokens`: how well the size of a later prompt is foretold, on recorded sessions; one JSON object on stdout.

"Ten ahead": at reported call i, knowing the reports up to i and the entries (not the reports) up to call i+10, foretell
the prompt of call i+10; the error is relative to the measured growth |m(i+10) - m(i)|, counted where that is over 1,000
tokens. "Next": the prompt of call i+1, relative to it. Nothing is fitted on the session measured: the rates of its family
come from the other groups of recordings (views of one session are one group).

`clean` leaves out spans that no estimate of the entries can foretell, `all` has everything but recorded compactions:
- `cut`: somewhere the prompt falls by over 10,000 tokens (and 5 %) beyond all reasoning reported in its turn: the client
  cleared its history and the recording holds it uncleared;
- `model_switch`: the client says that the model changed: reports of another model are no base (design rule 14);
- `server_tools`: a reply in the span, or the call at its end, used server-side tools, whose results the transcript lacks.

`from_inspect` is what anybody computes from `usage_predictions` of `inspect --json`: every span that grew, none left out,
with the rates that ship.

`--fit` prints the rates that all recordings give: those that ship.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

from precompact_cli.predictions import FAR_CALLS
from tests.bench.foretelling import (
    Estimates,
    Foretell,
    by_characters,
    by_family_factor,
    by_o200k,
    by_ratio,
    fit,
    looser,
    one_factor,
    without_reasoning,
)
from tests.bench.sized import Session, load_sessions
from tests.bench.told import errors_told

FLOOR_TOKENS = 1_000
OTHER_FLOORS = (500, 2_000)
DRAWS = 400

Figures = dict[str, dict[str, dict[str, float]]]
"""Of a look ahead, of a family, by name."""


def judge(sessions: Sequence[Session], foretell: Foretell, floor: int, *, clean: bool) -> Figures:
    """Both figures, pooled and by format and family."""
    far: dict[str, list[float]] = defaultdict(list)
    near: dict[str, list[float]] = defaultdict(list)
    for session in sessions:
        names = ("pooled", f"{session.recording.format.value}, {session.family}")
        for ahead, errors in ((FAR_CALLS, far), (1, near)):
            for index, base in _spans(session, ahead, floor, clean=clean):
                error = abs(foretell(session, index, ahead) - session.measured(index + ahead)) / base
                for name in names:
                    errors[name].append(error)
    return {"ten_ahead": _summed(far), "next": _summed(near)}


def intervals(sessions: Sequence[Session], foretell: Foretell) -> dict[str, list[float]]:
    """Where the 95th percentile ten calls ahead lies with other sessions of the same kind, in per cent: nine times in ten."""
    grouped: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for session in sessions:
        for index, base in _spans(session, FAR_CALLS, FLOOR_TOKENS, clean=True):
            error = abs(foretell(session, index, FAR_CALLS) - session.measured(index + FAR_CALLS)) / base
            for name in ("pooled", f"{session.recording.format.value}, {session.family}"):
                grouped[name][session.group].append(error)
    return {name: _interval(list(groups.values())) for name, groups in sorted(grouped.items())}


def _interval(groups: Sequence[Sequence[float]]) -> list[float]:
    """Of samples as large as this one, drawn from it session by session."""
    draw = random.Random(DRAWS)
    drawn = [
        [error for group in draw.choices(groups, k=len(groups)) for error in group] for _ in range(DRAWS)
    ]
    found = [_quantile(errors, 0.95) for errors in drawn]
    return [round(100 * _quantile(found, share), 1) for share in (0.05, 0.95)]


def _spans(session: Session, ahead: int, floor: int, *, clean: bool) -> Iterator[tuple[int, int]]:
    for index in range(len(session.track.reports) - ahead):
        why = session.unforetold(index, ahead)
        if why == "compaction" or (clean and why):
            continue
        after = session.measured(index + ahead)
        grown = abs(after - session.measured(index))
        if ahead == 1:
            yield index, after
        elif grown > floor:
            yield index, grown


def _summed(errors: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "n": len(found),
            "median_percent": round(100 * _quantile(found, 0.5), 3),
            "p95_percent": round(100 * _quantile(found, 0.95), 3),
        }
        for name, found in sorted(errors.items())
    }


def _quantile(values: Sequence[float], share: float) -> float:
    """Linear between the two nearest."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = int(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (place - low)


def left_out(sessions: Sequence[Session]) -> dict[str, int]:
    """Spans of ten calls by the reason they are left out of `clean`."""
    counted: dict[str, int] = defaultdict(int)
    for session in sessions:
        for index in range(len(session.track.reports) - FAR_CALLS):
            counted[session.unforetold(index, FAR_CALLS) or "clean"] += 1
    return dict(counted)


def report(sessions: Sequence[Session]) -> dict[str, object]:
    """Everything that `make bench-tokens` prints."""
    estimate = Estimates(sessions)
    methods: dict[str, Foretell] = {
        "estimate": estimate,
        "characters / 4": by_characters,
        "o200k": by_o200k,
        "o200k times the family's factor": by_family_factor,
        "o200k times the session's growth per token so far": by_ratio,
        "estimate, rates of the family alone": Estimates(sessions, learns=False),
        "estimate, begun with lessons of the repository's other sessions": Estimates(sessions, taught=True),
        "estimate, reasoning derived from output": Estimates(sessions, derived=True),
        "estimate without reasoning": Estimates(sessions, alter=without_reasoning),
        "estimate, one factor a session": Estimates(sessions, alter=one_factor),
        "estimate, sessions let loose three times as far": Estimates(sessions, alter=looser),
    }
    clean = {name: judge(sessions, method, FLOOR_TOKENS, clean=True) for name, method in methods.items()}
    spread = sum(estimate.inside) / len(estimate.inside)
    everything = {
        name: judge(sessions, methods[name], FLOOR_TOKENS, clean=False)
        for name in ("estimate", "characters / 4", "o200k")
    }
    return {
        "definition": (__doc__ or "").split("\n\n")[1].replace("\n", " "),
        "sessions": len(sessions),
        "groups": len({session.group for session in sessions}),
        "floor_tokens": FLOOR_TOKENS,
        "spans_of_ten": left_out(sessions),
        "p95_percent_with_other_sessions": intervals(sessions, estimate),
        "inside_spread": round(spread, 3),
        "clean": clean,
        "all": everything,
        "from_inspect": dict(
            zip(("ten_ahead", "next"), map(_summed, errors_told(sessions, FLOOR_TOKENS)), strict=True)
        ),
        "other_floors": {
            floor: judge(sessions, estimate, floor, clean=True)["ten_ahead"] for floor in OTHER_FLOORS
        },
        "reach": {"ten_ahead": [8, 25], "next": [0.15, 1.5]},
    }


def main(arguments: Sequence[str]) -> None:
    """Prints the report, or with `--fit` the rates."""
    sessions = load_sessions()
    if "--fit" in arguments:
        families = {session.rates.name: session.rates for session in sessions}
        shown: object = {name: repr(fit(rates, sessions)) for name, rates in sorted(families.items())}
    else:
        shown = report(sessions)
    json.dump(shown, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
