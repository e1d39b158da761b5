"""What a log tells besides the conversation: compactions, branches, sub-agents, calls, damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from precompact_cli.logs.session import Boundary, Branch, Session, View
from precompact_cli.plain import counted, plain
from precompact_shared.engine.formats import facts
from precompact_shared.engine.types import Format

if TYPE_CHECKING:
    from rich.console import Console

SHOWN, SHOWN_DAMAGE = 8, 5


def describe_log(log: Session) -> dict[str, Any]:
    """Everything as JSON; places are indexes of the history, lines count from 1, sizes are tokens as recorded."""
    return {
        "tool": log.tool,
        "views": {"history": _described(log, log.history()), **_views(log)},
        "boundaries": [
            {
                "at": one.at,
                "kept_from": one.kept_from,
                "inserted": len(one.insert),
                "line": one.line,
                "trigger": one.trigger,
                "tokens_before": one.tokens_before,
            }
            for one in log.boundaries
        ],
        "branches": [{"at": one.at, "messages": one.messages, "line": one.line} for one in log.branches],
        "sidechains": [_described(one, one.history()) for one in log.sidechains],
        "usage": [
            {
                "at": call.prefix,
                "total_input": call.total_input,
                "output": call.output,
                "epoch": log.epoch(call),
            }
            for call in log.calls
        ],
        "counts": {what.value: count for what, count in log.counts.items()},
        "skipped": log.skipped,
        "damaged_lines": log.damaged,
        "damage": [{"line": one.line, "why": one.why} for one in log.damage],
    }


def print_log(console: Console, log: Session) -> None:
    """The same in a few lines."""
    for line in told_log(log):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def told_log(log: Session) -> list[str]:
    """Lines for people, fit for a terminal; of each sort the first few, and how many more there are."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in list(log.skipped.items())[:6])
    counts = ", ".join(f"{count} {what.value}" for what, count in log.counts.items())
    lines = [f"Log of {log.tool}" + (f": {counts}" if counts else "")]
    lines += _few([_told_boundary(one) for one in log.boundaries], "compactions")
    lines += _few([_told_branch(one) for one in log.branches], "branches")
    lines += _few(
        [
            f"Sub-agent {number}: {counted(len(one.messages), 'entry', 'entries')}, {counted(len(one.calls), 'call')}"
            for number, one in enumerate(log.sidechains, 1)
        ],
        "sub-agents",
    )
    if kinds:
        lines.append(f"Lines without messages: {kinds}")
    lines += [f"Line {one.line} cannot be read: {one.why}" for one in log.damage[:SHOWN_DAMAGE]]
    if log.damaged > SHOWN_DAMAGE:
        lines.append(f"{log.damaged} lines cannot be read in all; the rest is shown")
    return list(map(plain, lines))


def _few(lines: list[str], what: str) -> list[str]:
    rest = len(lines) - SHOWN
    return lines if rest <= 0 else [*lines[:SHOWN], f"and {rest} more {what}"]


def _told_boundary(one: Boundary) -> str:
    size = f", {one.tokens_before:,} tokens" if one.tokens_before else ""
    return f"Compacted at entry {one.at}{size}" + (f" ({one.trigger})" if one.trigger else "")


def _told_branch(one: Branch) -> str:
    return f"Branch left at entry {one.at}: {counted(one.messages, 'entry', 'entries')}, line {one.line}"


def _views(log: Session) -> dict[str, Any]:
    if not log.boundaries:
        return {}
    return {"before": _described(log, log.before()), "after": _described(log, log.after())}


def _described(log: Session, view: View) -> dict[str, Any]:
    calls, results = _pairs(log.format, view.messages)
    return {
        "entries": len(view.messages),
        "tool_calls": calls,
        "tool_results": results,
        "model_calls": len(view.calls),
        "peak_tokens": max((call.total_input for call in view.calls), default=None),
    }


def _pairs(wire: Format, messages: Sequence[Any]) -> tuple[int, int]:
    calls = results = 0
    for message in messages:
        known = facts(wire, message)
        calls, results = calls + len(known.calls), results + len(known.results)
    return calls, results
