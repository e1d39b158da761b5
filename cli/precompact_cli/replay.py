"""`replay`: recordings played through a service that runs already, under the policy its tenant has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from precompact_cli.access import Access
from precompact_cli.exits import Exit, print_json
from precompact_cli.pipes import is_piped
from precompact_cli.plain import plain
from precompact_cli.recording import Recording
from precompact_cli.service_records import read_policy
from precompact_cli.show import Wishes, announce, is_sound, play, rehearse, view_of
from precompact_cli.source import Source
from precompact_cli.summariser import REAL_MOST_SPEED
from precompact_shared.policy import Policy
from precompact_shared.processes import interruptible
from precompact_shared.provider_spec import ProviderName

_SUMMED = (
    *(
        "entries",
        "model_calls",
        "compactions",
        "adopted",
        "waited",
        "reduced",
        "tokens_before",
        "tokens_after",
    ),
    *("lost", "doubled", "summary_calls", "failed_calls", "cost_usd", "unpriced_calls"),
)
_BY_CODE = frozenset({ProviderName.EXTRACTIVE, ProviderName.SCRIPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What the command line says; the files are played one after the other."""

    sources: Sequence[Source]
    access: Access
    speed: float | None
    window: int | None
    quiet: bool


def run_replay(options: ReplayOptions) -> Exit:
    """Plays all; a line of figures for each, and with several one more with their sums.

    Every file is opened before the first is played, so that a wrong one is told before anything is sent.
    """
    with interruptible():
        piped = [_open(source) for source in options.sources]
        policy = read_policy(options.access.url, options.access.key)
        lines: list[dict[str, Any]] = []
        for number, (source, once) in enumerate(zip(options.sources, piped, strict=True), 1):
            lines.append(_replay(options, source, once, policy, f"{number}/{len(piped)}"))
            print_json(lines[-1])
    if len(lines) > 1:
        print_json(summed(lines))
    return Exit.OK if all(map(is_sound, lines)) else Exit.FAILED


def summed(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of several lines; `valid` if every one is."""
    sums = {name: sum(line[name] for line in lines) for name in _SUMMED}
    return {"sessions": len(lines), **sums, "valid": all(line["valid"] for line in lines)}


def _open(source: Source) -> Recording | None:
    """Refuses what is no recording; the recording of what cannot be read again, None for a file: it is not held."""
    recording = source.read()
    return recording if is_piped(source.file) else None


def _replay(
    options: ReplayOptions, source: Source, once: Recording | None, policy: Policy | None, place: str
) -> dict[str, Any]:
    with view_of(quiet=options.quiet, title=f"precompact replay {place}") as view:
        view.note(f"{place}  reading and counting {plain(str(source.file))}")
        known = policy or Policy()
        wishes = Wishes(window=options.window, speed=options.speed, most_speed=_most_speed(known))
        part = rehearse(once or source.read(), known, wishes)
        announce(view, part, _by_whom(policy))
        preset = policy.preset if policy else None
        access = options.access
        return play(part, view, url=access.url, key=access.key, summariser_s=None, preset=preset)


def _most_speed(policy: Policy) -> float | None:
    """A model of a provider writes in real time; nobody knows who stands in the deployment's own chain."""
    return None if all(spec.name in _BY_CODE for spec in policy.providers) else REAL_MOST_SPEED


def _by_whom(policy: Policy | None) -> str:
    if policy is None:
        return "the tenant's policy is newer than this command; the default one's limits were reckoned with"
    chain = ", ".join(spec.name for spec in policy.providers) or "the deployment's providers"
    return f"preset {policy.preset}; summaries by {chain}, in real time"
