"""What a play's summaries used and cost, and who wrote them: from the service's own records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_CLASSES = ("input", "cache_read", "cache_write", "output")
"""Price classes; `input` is neither read from a cache nor written to one."""


def spent_on(
    jobs: Sequence[Mapping[str, Any]], usage: Mapping[str, Any], preset: str | None
) -> dict[str, Any]:
    """The figures, to stand in the line of a play.

    `provider`, `model` and `mode` are those of most good calls (None: there were none), `written_by` counts the good
    calls of every provider. `summary_tokens` by price class and `cost_usd` are those of all the session's calls, failed
    ones included.
    """
    calls = [call for job in jobs for call in job.get("calls") or ()]
    good = [call for call in calls if call.get("outcome") == "ok"]
    kinds = Counter((call["provider"], call.get("model"), call.get("mode")) for call in good)
    [(most, _)] = kinds.most_common(1) or [((None, None, None), 0)]
    return {
        "preset": preset,
        **dict(zip(("provider", "model", "mode"), most, strict=True)),
        "written_by": dict(sorted(Counter(call["provider"] for call in good).items())),
        "summary_calls": int(usage.get("calls") or 0),
        "failed_calls": len(calls) - len(good),
        "failures": dict(sorted(_failures(calls).items())),
        "summary_tokens": {name: int(usage.get(f"{name}_tokens") or 0) for name in _CLASSES},
        "cost_usd": float(usage.get("cost_usd") or 0.0),
        "unpriced_calls": int(usage.get("unpriced_calls") or 0),
    }


def _failures(calls: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(f"{call['provider']}: {call['outcome']}" for call in calls if call.get("outcome") != "ok")


def told_spending(spent: Mapping[str, Any]) -> str:
    """The same in a line."""
    if not spent["summary_calls"] or spent["provider"] is None:
        return "summaries: none were written"
    if spent["model"] is None and not spent["failed_calls"]:
        return f"summaries by {spent['provider']}: {spent['summary_calls']} written, no model was called"
    tokens = spent["summary_tokens"]
    whole = sum(tokens[name] for name in _CLASSES if name != "output")
    model = f" ({spent['model']}, {spent['mode']})" if spent["model"] else ""
    unpriced = f", {spent['unpriced_calls']} calls of unknown price" if spent["unpriced_calls"] else ""
    failed = ", ".join(f"{count} {why}" for why, count in spent["failures"].items()) or "none"
    return (
        f"summaries by {spent['provider']}{model}: {spent['summary_calls']} calls (failed: {failed}), "
        f"{whole:,} tokens in ({tokens['cache_read']:,} from a cache), {tokens['output']:,} out, "
        f"${spent['cost_usd']:.2f} at list prices{unpriced}"
    )
