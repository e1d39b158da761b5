"""`compact`: one file, one preset, no service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from precompact_cli.exits import Exit, InputRefused, fail, print_json
from precompact_cli.offline import Compacted, Skipped, compact_offline, limits_of, provider_text, resolve
from precompact_cli.plain import plain, plain_text
from precompact_cli.recording import Recording, read_recording
from precompact_cli.view import View
from precompact_shared.engine.edits import edit_to_json
from precompact_shared.engine.preset import Preset, load_preset, preset_names
from precompact_shared.engine.validate import Severity, validate


def run_compact(
    file: Path,
    *,
    preset: str,
    provider: str,
    window: int | None,
    as_json: bool,
    view: View = View.AFTER,
    session: str | None = None,
) -> Exit:
    """Prints the compacted conversation, or why there is nothing to compact."""
    rules = known_preset(preset)
    used = provider_text(provider)
    recording = read_recording(file, view, session=session)
    done = compact_offline(recording, rules, limits_of(recording, rules, window))
    if isinstance(done, Skipped):
        return _tell_skipped(done, as_json=as_json)
    _check(recording, done)
    if as_json:
        print_json(describe(recording, rules, used, resolve(recording, window).window, done))
    else:
        _print_page(recording, rules, done)
    return Exit.OK


def _check(recording: Recording, done: Compacted) -> None:
    """Refuses a result that breaks a rule: as the input's fault where that breaks the same one, else as ours."""
    broken, given = (
        [one for one in validate(recording.format, messages) if one.severity is Severity.ERROR]
        for messages in (done.messages, recording.messages)
    )
    if not broken:
        return
    rule = broken[0].id
    source = next((one for one in given if one.id == rule), None)
    if source is not None:
        raise InputRefused(
            f"The conversation breaks rule {rule} at message {source.index}; `inspect --validate` tells what it demands."
        )
    raise fail(
        f"the result breaks rule {rule} at message {broken[0].index}: a fault of this program", Exit.FAILED
    )


def known_preset(name: str) -> Preset:
    """The preset of that name. Raises InputRefused naming those there are."""
    if name not in preset_names():
        raise InputRefused(f"There is no preset of that name; use one of: {', '.join(preset_names())}.")
    return load_preset(name)


def describe(
    recording: Recording, preset: Preset, provider: str, window: int, done: Compacted
) -> dict[str, Any]:
    """The result as one JSON object. Sizes are of the whole context; `messages` is ready to send."""
    return {
        "format": recording.format.value,
        "preset": preset.name,
        "provider": provider,
        "window": window,
        "cut": done.upto,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "summary": done.summary.text,
        "coverage": {
            "seen_tokens": done.coverage.seen_tokens,
            "covered_tokens": done.coverage.covered_tokens,
            "share": done.coverage.share,
        },
        "checkpoint": {
            "kind": "summary",
            "upto": done.upto,
            "cut_reason": done.reason,
            "preset": preset.name,
            "preset_version": preset.version,
            "summary_tokens": done.summary.tokens,
            "insert": list(done.insert),
            "edits": [edit_to_json(edit) for edit in done.edits],
        },
        "messages": done.messages,
    }


def _tell_skipped(done: Skipped, *, as_json: bool) -> Exit:
    if as_json:
        print_json({"skipped": done.reason})
    else:
        sys.stdout.write(f"Nothing to compact: {done.reason.replace('_', ' ')}.\n")
    return Exit.NOTHING


def _print_page(recording: Recording, preset: Preset, done: Compacted) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    console = Console()
    saved = 1 - done.tokens_after / done.tokens_before
    console.print(
        f"{plain(recording.name)}: {done.tokens_before:,} to {done.tokens_after:,} tokens ({saved:.0%} less), "
        f"entries 0 to {done.upto - 1} covered, {len(recording.messages) - done.upto} kept ({done.reason.replace('_', ' ')})",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    console.print(
        Panel(Text(plain_text(done.summary.text)), title=f"summary, preset {preset.name}", title_align="left")
    )
