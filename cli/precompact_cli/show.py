"""Playing one recording: what a demo and a replay share."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from rich.console import Console

import precompact
from precompact_cli.pacing import IDLE_MOST_S, STEP_S, choose_speed
from precompact_cli.playing import Options, Player
from precompact_cli.recording import Recording
from precompact_cli.report import report
from precompact_cli.service_records import Records, discarded
from precompact_cli.sizes import Sizes, measure
from precompact_cli.spending import spent_on, told_spending
from precompact_cli.timeline import Silence, Timeline, View
from precompact_cli.windows import Choice, choose_window
from precompact_cli.wiretap import Wiretap
from precompact_shared.errors import Refused
from precompact_shared.policy import Policy

WAIT_S = 30.0
"""How long the agent lets itself be blocked at the hard limit, in session time; a shorter one hides stalls."""


class PlayStopped(Refused):
    """The service refused a call or went away; look at its log."""

    code = "play_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One recording, ready to be played."""

    recording: Recording
    sizes: Sizes
    window: Choice
    speed: float

    @property
    def session_id(self) -> str:
        """A new id that tells what is played."""
        name = "".join(
            letter if letter.isalnum() or letter in "._-" else "-" for letter in self.recording.name
        )
        return f"play-{name[:120]}-{uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for; None: chosen by what is played. `most_speed` binds a chosen speed alone."""

    window: int | None = None
    speed: float | None = None
    most_speed: float | None = None

    def speed_of(self, recording: Recording) -> float:
        """How many times as fast as recorded."""
        if self.speed is not None:
            return self.speed
        chosen = choose_speed(recording.pace.total_s)
        return chosen if self.most_speed is None else min(chosen, self.most_speed)


def rehearse(recording: Recording, policy: Policy, wishes: Wishes) -> Part:
    """Measures a recording for a play under a tenant's policy. Raises InputRefused for a window without room."""
    sizes = measure(recording)
    return Part(
        recording=recording,
        sizes=sizes,
        window=choose_window(recording, sizes, policy, wishes.window),
        speed=wishes.speed_of(recording),
    )


def view_of(*, quiet: bool, title: str = "precompact") -> View:
    """A timeline on stderr, or nothing."""
    return Silence() if quiet else Timeline(Console(file=sys.stderr), title)


def announce(view: View, part: Part, summariser: str) -> None:
    """Says what is played and under which conditions."""
    recording, pace, window = part.recording, part.recording.pace, part.window
    view.note(
        f"{recording.name}: {recording.format}, {recording.model or 'model unknown'}, {len(recording.messages)} entries, "
        f"{len(recording.calls)} model calls, about {part.sizes.total:,} tokens"
    )
    view.note(f"window {window.window:,} ({window.why}), output reserve {window.max_output:,}")
    view.note(f"{part.speed:g} times as fast as recorded; only delays are compressed; {summariser}")
    if pace.cut:
        view.note(
            f"{pace.cut} idle gaps cut to {IDLE_MOST_S:g} s, {pace.cut_s:,.0f} s of session time left out"
        )
    if pace.assumed:
        view.note(f"{pace.assumed} gaps not recorded: {STEP_S:g} s each")
    if recording.left_out:
        view.note(f"{recording.left_out} recorded calls left out: they do not continue the list of messages")


def play(
    part: Part, view: View, *, url: str, key: str, summariser_s: float | None, preset: str | None
) -> dict[str, Any]:
    """Plays it through the service at `url`; the figures of the play."""
    recording, session_id = part.recording, part.session_id
    tap = Wiretap()
    with precompact.Client(url, key, transport=tap) as client, Records(url, key, session_id) as records:
        session = client.session(
            session_id,
            format=recording.format.value,
            model=recording.model,
            window=part.window.window,
            max_output=part.window.max_output,
        )
        player = Player(
            recording,
            part.sizes,
            session=session,
            tap=tap,
            options=Options(speed=part.speed, wait_s=WAIT_S),
            show=view.show,
        )
        try:
            outcome = player.play()
        except precompact.PrecompactError as error:
            raise PlayStopped(f"The play stopped: {error}") from None
        jobs, candidates = records.settled_jobs(), records.listed("candidates")
        outcome.books.check_chain(_chain(records))
        spent = spent_on(jobs, records.usage(), preset)
        view.note(told_spending(spent))
    return {
        **report(
            recording,
            outcome,
            session=session_id,
            window=part.window.window,
            speed=part.speed,
            summariser_s=summariser_s,
            discarded=discarded(candidates, jobs),
        ),
        **spent,
    }


def is_sound(figures: dict[str, Any]) -> bool:
    """Whether nothing was lost, doubled or refused."""
    return figures["lost"] == 0 and figures["doubled"] == 0 and figures["valid"] is True


def _chain(records: Records) -> dict[str, int]:
    return {str(one.get("cid") or one.get("id")): int(one["upto"]) for one in records.listed("checkpoints")}
