"""`demo`: the whole service on a temporary Redis, and one recording played through it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from precompact_cli.exits import Exit, print_json
from precompact_cli.recording import SAMPLE
from precompact_cli.services import Services, processes, redis_of
from precompact_cli.show import SUMMARISER_S, Part, announce, is_sound, play, rehearse, view_of
from precompact_cli.tenancy import admit, scripted_policy
from precompact_shared.engine.preset import DEFAULT_PRESET
from precompact_shared.errors import PrecompactError
from precompact_shared.processes import interruptible
from precompact_shared.settings import load_settings

TENANT = "demo"
SAMPLE_WINDOW = 100_000
"""Tokens. In its model's window the sample would be compacted once; in this one three times or so."""


def run_demo(file: Path | None, *, speed: float | None, window: int | None, quiet: bool) -> Exit:
    """Plays and prints the line of figures; leaves no process and no file behind."""
    with interruptible():
        window = window or (None if file else SAMPLE_WINDOW)
        part = rehearse(file or SAMPLE, window=window, speed=speed, preset=DEFAULT_PRESET)
        with tempfile.TemporaryDirectory(prefix="precompact-demo-") as folder:
            figures = _play_on(part, Path(folder), quiet=quiet)
    print_json(figures)
    return Exit.OK if is_sound(figures) else Exit.FAILED


def _play_on(part: Part, folder: Path, *, quiet: bool) -> dict[str, Any]:
    # A demo stands alone: what the environment says about URLs and ports belongs to another deployment.
    settings = load_settings(
        state_redis_url=None,
        broker_url=None,
        api_host="127.0.0.1",
        api_port=0,
        api_workers=1,
        data_dir=folder,
    )
    with redis_of(settings, folder, appendonly=False) as (settled, embedded):
        key = admit(
            settled.required_state_redis_url, TENANT, policy=scripted_policy(SUMMARISER_S, part.speed)
        )
        with processes(settled, embedded, folder / "logs") as services:
            try:
                return _play_with(part, services, key or "", quiet=quiet)
            except PrecompactError:
                sys.stderr.write(services.log_tail() + "\n")
                raise


def _play_with(part: Part, services: Services, key: str, *, quiet: bool) -> dict[str, Any]:
    with view_of(quiet=quiet) as view:
        announce(view, part, f"a summary takes {SUMMARISER_S:g} s of session time")
        services.supervisor.wait_ready()
        return play(part, view, url=services.api_url, key=key, summariser_s=SUMMARISER_S)
