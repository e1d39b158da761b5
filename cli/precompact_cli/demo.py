"""`demo`: the whole service on a temporary Redis, and one recording played through it."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precompact_cli.compacting import known_preset
from precompact_cli.exits import Exit, print_json
from precompact_cli.recording import Recording
from precompact_cli.restating import as_responses
from precompact_cli.sample import SESSION
from precompact_cli.services import Services, processes, redis_of
from precompact_cli.show import Part, Wishes, announce, is_sound, play, rehearse, view_of
from precompact_cli.source import Source
from precompact_cli.standin import StandIn, standin_beside
from precompact_cli.summariser import REAL_MOST_SPEED, Summariser
from precompact_cli.tenancy import admit
from precompact_shared.errors import PrecompactError
from precompact_shared.policy import Policy
from precompact_shared.processes import interruptible
from precompact_shared.settings import Settings, load_settings

TENANT = "demo"
SAMPLE_WINDOW = 100_000
"""Tokens. In its model's window the sample would be compacted once; in this one three times or so."""
_OWN_PRESET = "openai-native"
"""The one preset that asks for the sample in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What the command line says. `source` None: the sample that ships."""

    source: Source | None
    speed: float | None
    window: int | None
    summariser: Summariser
    quiet: bool


def run_demo(options: DemoOptions) -> Exit:
    """Plays and prints the line of figures; leaves no process and no file behind."""
    with interruptible():
        known_preset(options.summariser.preset)
        options.summariser.check(load_settings())
        part = _rehearse(options)
        with tempfile.TemporaryDirectory(prefix="precompact-demo-") as folder:
            figures = _play_on(part, Path(folder), options)
    print_json(figures)
    return Exit.OK if is_sound(figures) else Exit.FAILED


def _rehearse(options: DemoOptions) -> Part:
    recording, window = _recording(options), options.window
    options.summariser.check_form(recording)
    if options.source is None:
        window = window or SAMPLE_WINDOW
    most = REAL_MOST_SPEED if options.summariser.is_real else None
    wishes = Wishes(window=window, speed=options.speed, most_speed=most)
    return rehearse(recording, Policy(preset=options.summariser.preset), wishes)


def _recording(options: DemoOptions) -> Recording:
    if options.source is not None:
        return options.source.read()
    sample = Source(file=SESSION).read()
    return as_responses(sample) if options.summariser.preset == _OWN_PRESET else sample


def _play_on(part: Part, folder: Path, options: DemoOptions) -> dict[str, Any]:
    summariser = options.summariser
    with ExitStack() as stack:
        delay_s = summariser.delay_s(part.speed)
        standin = (
            stack.enter_context(standin_beside(folder, delay_s=delay_s)) if summariser.is_standin else None
        )
        settings = _settings(folder, standin)
        settled, embedded = stack.enter_context(redis_of(settings, folder, appendonly=False))
        policy = summariser.policy(part.speed, part.recording.format, settled)
        key = admit(settled.required_state_redis_url, TENANT, policy=policy)
        beside, env = ((standin.program,), standin.env) if standin else ((), {})
        services = stack.enter_context(processes(settled, embedded, folder / "logs", beside=beside, env=env))
        try:
            return _play_with(part, services, key or "", options)
        except PrecompactError:
            sys.stderr.write(services.log_tail() + "\n")
            raise


def _settings(folder: Path, standin: StandIn | None) -> Settings:
    """A demo stands alone: what the environment says about URLs and ports belongs to another deployment."""
    return load_settings(
        state_redis_url=None,
        broker_url=None,
        api_host="127.0.0.1",
        api_port=0,
        api_workers=1,
        data_dir=folder,
        **(standin.settings if standin else {}),
    )


def _play_with(part: Part, services: Services, key: str, options: DemoOptions) -> dict[str, Any]:
    summariser = options.summariser
    with view_of(quiet=options.quiet) as view:
        announce(view, part, summariser.words())
        services.supervisor.wait_ready()
        figures = play(
            part,
            view,
            url=services.api_url,
            key=key,
            summariser_s=summariser.session_s,
            preset=summariser.preset,
        )
    # Nobody wrote a summary: then it is told who would have.
    asked = {} if figures["provider"] else {"provider": summariser.writer.value, "model": summariser.model}
    return figures | asked | {"standin": summariser.is_standin}
