"""The engine alone: cut and projection at 50 to 50,000 entries. Work for each entry must not grow with their number."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from precompact_shared.engine.cut import Cut, plan_cut
from precompact_shared.engine.preset import Preset, load_preset
from precompact_shared.engine.projection import context_edits, pinned_entries, render_insert
from precompact_shared.engine.types import Entry, Format, Message
from tests.bench.figures import Figure, at_most, median, rounded

SIZES = (50, 500, 5_000, 50_000)
SMALL, LARGE = 500, SIZES[-1]
"""Between these the growth is reported; a run at 50 entries is mostly fixed cost."""
ENTRIES_A_RUN = 10_000
"""What is small is repeated until so many entries are handled; what is large three times."""
PRESETS = ("precompact", "codex", "gemini-cli")
"""A tail bound by tokens; user texts kept and no tail; a share of the history by characters."""
KEEP_TOKENS = 20_000
LINEAR = 2.0
"""Caches that no longer hold the data double the time of an entry; work that grows with n would multiply it."""


def cut_and_projection() -> Iterator[Figure]:
    """One figure for each operation: the worst growth over formats and presets, microseconds of an entry beside it."""
    histories = {wire: {size: _history(wire, size) for size in SIZES} for wire in Format}
    for name, operation in (("cut", _cut), ("projection", _project), ("tail", _tail)):
        yield _growth(name, operation, histories)


def _growth(
    name: str,
    operation: Callable[[Format, Sequence[Entry], Preset], Callable[[], object]],
    histories: dict[Format, dict[int, list[Entry]]],
) -> Figure:
    us_per_entry: dict[str, dict[str, float]] = {}
    ms: dict[str, float] = {}
    n = 0
    for wire, by_size in histories.items():
        for preset in map(load_preset, PRESETS):
            row = us_per_entry.setdefault(f"{wire}/{preset.name}", {})
            for size, entries in by_size.items():
                times = _timed(operation(wire, entries, preset), max(3, ENTRIES_A_RUN // size))
                n += len(times)
                row[str(size)] = rounded(1e6 * median(times) / size)
                ms[str(size)] = max(ms.get(str(size), 0.0), rounded(1e3 * median(times)))
    growths = {which: row[str(LARGE)] / row[str(SMALL)] for which, row in us_per_entry.items()}
    return at_most(
        f"{name}_work_per_entry_{LARGE}_against_{SMALL}",
        max(growths.values()),
        LINEAR,
        n,
        growth={which: rounded(growth) for which, growth in growths.items()},
        us_per_entry=us_per_entry,
        slowest_ms=ms,
    )


def _cut(wire: Format, entries: Sequence[Entry], preset: Preset) -> Callable[[], object]:
    return lambda: plan_cut(wire, entries, keep_tokens=KEEP_TOKENS, at_least=0, rule=preset.cut)


def _project(wire: Format, entries: Sequence[Entry], preset: Preset) -> Callable[[], object]:
    """What stands in front and what changes behind, at the planned cut; for a skip behind everything."""
    cut = plan_cut(wire, entries, keep_tokens=KEEP_TOKENS, at_least=0, rule=preset.cut)
    upto = cut.upto if isinstance(cut, Cut) else len(entries)
    covered, kept = entries[:upto], entries[upto:]

    def project() -> object:
        insert = render_insert(wire, preset, "what was said", pinned_entries(wire, covered), covered=covered)
        return insert, context_edits(wire, kept, preset)

    return project


def _tail(wire: Format, entries: Sequence[Entry], preset: Preset) -> Callable[[], object]:
    """Everything is tail: the most that a projection can have to look at."""
    return lambda: context_edits(wire, entries, preset)


def _timed(act: Callable[[], object], times: int) -> list[float]:
    """CPU seconds of each run; the first, which warms up, left out."""
    act()
    took = []
    with _no_collection():
        for _ in range(times):
            begun = time.process_time()
            act()
            took.append(time.process_time() - begun)
    return took


@contextmanager
def _no_collection() -> Iterator[None]:
    """The collector walks all that is alive, which here is the histories of the other sizes too."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _history(wire: Format, size: int) -> list[Entry]:
    """A request, then steps of a tool and now and then another request; every text of its own."""
    messages: list[Message] = []
    number = 0
    while len(messages) < size:
        messages += _WRITERS[wire](number)
        number += 1
    return [Entry(seq, message, len(str(message)) // 4) for seq, message in enumerate(messages[:size])]


def _words(number: int, count: int) -> str:
    return " ".join(f"w{number}x{word}" for word in range(count))


def _anthropic(number: int) -> list[Message]:
    use = {
        "type": "tool_use",
        "id": f"c{number}",
        "name": "Read",
        "input": {"file_path": f"src/m{number}.py"},
    }
    thought = {"type": "thinking", "thinking": _words(number, 5), "signature": "c2ln"}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": _words(number, 40)}
    asked = [{"role": "user", "content": f"request {number}"}] if number % 10 == 0 else []
    return [*asked, {"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [result]}]


def _chat(number: int) -> list[Message]:
    function = {"name": "Read", "arguments": f'{{"file_path": "src/m{number}.py"}}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    asked = [{"role": "user", "content": f"request {number}"}] if number % 10 == 0 else []
    result = {"role": "tool", "tool_call_id": f"c{number}", "content": _words(number, 40)}
    return [*asked, {"role": "assistant", "content": None, "tool_calls": [call]}, result]


def _responses(number: int) -> list[Message]:
    arguments = f'{{"file_path": "src/m{number}.py"}}'
    asked = [{"role": "user", "content": f"request {number}"}] if number % 10 == 0 else []
    return [
        *asked,
        {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "function_call", "call_id": f"c{number}", "name": "Read", "arguments": arguments},
        {"type": "function_call_output", "call_id": f"c{number}", "output": _words(number, 40)},
    ]


_WRITERS: dict[Format, Callable[[int], list[Message]]] = {
    Format.ANTHROPIC: _anthropic,
    Format.OPENAI_CHAT: _chat,
    Format.OPENAI_RESPONSES: _responses,
}
