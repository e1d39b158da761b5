"""`python -m precompact_scheduler`: the wiring, and nothing else."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from precompact_scheduler import counters
from precompact_scheduler.deciding import Decider
from precompact_scheduler.loop import Scheduler
from precompact_scheduler.outbox import AdmitAll, Outbox
from precompact_scheduler.streams import Streams, consumer_name
from precompact_scheduler.sweeper import Sweeper
from precompact_shared.clock import monotonic_s
from precompact_shared.courier import Courier, sender_app
from precompact_shared.errors import Configuration, PrecompactError
from precompact_shared.logging import configure_logging, get_logger
from precompact_shared.patience import await_layout
from precompact_shared.policy import Policy, PolicyCache
from precompact_shared.settings import Settings, load_settings
from precompact_shared.store import SyncStore, sync_client
from precompact_shared.store.tenants import load_policy


def build(settings: Settings) -> Scheduler:
    """A scheduler on the Redis and broker of the settings; waits for Redis. Raises `Configuration` without them."""
    if settings.state_redis_url is None or settings.broker_url is None:
        raise Configuration("Set PRECOMPACT_STATE_REDIS_URL and PRECOMPACT_BROKER_URL for a scheduler.")
    client = sync_client(settings.state_redis_url)
    store = SyncStore(client)
    layout = await_layout(client, settings.shards)

    def load(tenant: str) -> Policy:
        return store.run(load_policy(tenant))

    policies = PolicyCache(load, monotonic_s)
    courier = Courier(sender_app(settings.broker_url, client_name="precompact-scheduler"))
    return Scheduler(
        Streams(client, layout, consumer_name()),
        Decider(store, layout, policies.get, deadline_ms=int(settings.job_deadline_s * 1000)),
        Outbox(courier, store, layout, AdmitAll(), now_s=monotonic_s),
        Sweeper(store, layout, policies.get, settings),
        sweep_s=settings.sweep_s,
        now_s=monotonic_s,
    )


def main() -> int:
    """Runs until SIGTERM or SIGINT; 0 after a stop, 2 for a configuration that does not work."""
    parser = argparse.ArgumentParser(
        prog="precompact_scheduler", description="Decides, claims and sends jobs."
    )
    parser.add_argument(
        "--metrics-port", type=int, default=0, help="serve /metrics there (default: not at all)"
    )
    port: int = parser.parse_args().metrics_port
    signal.signal(signal.SIGTERM, _leave)
    try:
        settings = load_settings()
        configure_logging(process="scheduler", level=settings.log_level, log_format=settings.log_format)
        scheduler = build(settings)
    except PrecompactError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: scheduler.stop())
    if port:
        counters.serve(port)
    get_logger().info("scheduler ready")
    scheduler.run()
    return 0


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
