"""`up`: everything on this machine until it is told to stop."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from precompact_cli.access import told_where
from precompact_cli.exits import Exit, print_json
from precompact_cli.services import Services, flower, processes, redis_of
from precompact_cli.tenancy import admit
from precompact_shared.processes import free_port, interruptible
from precompact_shared.settings import Settings, load_settings

TENANT = "default"
FLOWER_PORT = 5555


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What the command line says beside the settings."""

    port: int | None
    redis_port: int
    new_key: bool
    with_flower: bool
    flower_port: int | None
    as_json: bool


def run_up(options: UpOptions) -> Exit:
    """Starts, prints addresses and, once, the key; returns when SIGINT or SIGTERM came and all children are gone."""
    overrides = {} if options.port is None else {"api_port": options.port}
    settings = load_settings(**overrides)
    try:
        with interruptible():
            _serve(settings, options)
    except KeyboardInterrupt:
        sys.stderr.write("precompact: stopped, nothing left running\n")
    return Exit.OK


def _serve(settings: Settings, options: UpOptions) -> None:
    with redis_of(settings, settings.data_dir, appendonly=True, port=options.redis_port) as (
        settled,
        embedded,
    ):
        key = admit(settled.required_state_redis_url, TENANT, new_key=options.new_key)
        logs = settings.data_dir / "logs"
        sink = None if options.as_json else sys.stderr
        with processes(settled, embedded, logs, log=sink, restarts=True) as services:
            flower_url = _start_flower(services, options) if options.with_flower else None
            services.supervisor.wait_ready()
            with told_where(settings.data_dir, services.api_url):
                _announce(services, key, flower_url, as_json=options.as_json)
                services.supervisor.watch(until=lambda: _revive_redis(services))


def _revive_redis(services: Services) -> bool:
    """Starts our own Redis again should it have died. Never says that it is time to stop: signals do."""
    if services.embedded is not None:
        services.embedded.revive()
    return False


def _start_flower(services: Services, options: UpOptions) -> str:
    port = options.flower_port if options.flower_port is not None else FLOWER_PORT
    port = port or free_port()
    program = flower(services.settings, port, services.settings.data_dir)
    services.supervisor.start(program, log=services.log_dir / "flower.log")
    return f"http://127.0.0.1:{port}"


def _announce(services: Services, key: str | None, flower_url: str | None, *, as_json: bool) -> None:
    settings = services.settings
    told = {
        "api": services.api_url,
        "redis": services.embedded.url if services.embedded else "as configured",
        "data_dir": str(settings.data_dir),
        "tenant": TENANT,
        "key": key,
        "flower": flower_url,
    }
    if as_json:
        print_json(told)
        return
    lines = [
        f"API     {services.api_url}   (documentation: {services.api_url}/docs)",
        f"Redis   {told['redis']}   data in {settings.data_dir}",
        f"Tenant  {TENANT}",
        f"Key     {key}   (shown this once, kept only as a hash)"
        if key
        else "Key     as printed at the first start; `precompact up --new-key` issues another",
        *([f"Flower  {flower_url}   (read-only)"] if flower_url else []),
        "Stop with Ctrl-C.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
