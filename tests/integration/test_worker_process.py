"""The real worker process under pytest-celery: it works, it dies, and the job is done again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from pytest_celery import CeleryTestSetup, CeleryTestWorker, RedisTestBroker  # type: ignore[import-untyped]

from precompact_shared.courier import Courier, Lane, Message, make_app
from precompact_shared.policy import Policy, ProviderName, ProviderSpec
from precompact_shared.processes import Program, Supervisor
from precompact_shared.redis_server import EmbeddedRedis
from precompact_shared.settings import Settings, as_environment
from precompact_shared.store import SyncStore, fix_layout, reading, sync_client
from precompact_shared.store.tenants import save_policy
from precompact_shared.store.types import JobState, JobTag
from tests.support.celery_nodes import RedisProcess, WorkerNode, WorkerProcess
from tests.support.filling import Filled
from tests.support.talk import turns
from tests.support.waiting import eventually

pytestmark = pytest.mark.process
LEASE_S = 2.0
SECRET = "zebra-umbrella-4711"
"""Words of the conversation that must be seen nowhere else."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A Redis for these tests alone: its broker is looked at and its worker killed."""
    with EmbeddedRedis(tmp_path / "redis", appendonly=False) as started:
        yield started


@pytest.fixture
def settings(server: EmbeddedRedis) -> Settings:
    """Short times, so that a dead worker's job is found again soon."""
    return Settings(
        state_redis_url=server.url,
        broker_url=server.url_of(1),
        lease_s=LEASE_S,
        sweep_s=0.3,
        resend_s=2,
        log_format="json",
    )


@pytest.fixture
def celery_broker(server: EmbeddedRedis) -> RedisTestBroker:
    """pytest-celery's broker: a database of that Redis."""
    return RedisTestBroker(RedisProcess(server, 1))


@pytest.fixture
def celery_backend_cluster() -> None:
    """There is no result backend."""


@pytest.fixture
def celery_setup_app(settings: Settings) -> Celery:
    """The app that sends, with the service's own settings."""
    return make_app(settings.broker_url or "", client_name="test")


@pytest.fixture
def celery_worker(settings: Settings, celery_setup_app: Celery, tmp_path: Path) -> Iterator[CeleryTestWorker]:
    """The worker process as it runs in production."""
    container = WorkerProcess(as_environment(settings), tmp_path / "worker.log", ("--concurrency", "4"))
    yield WorkerNode(container, celery_setup_app)
    container.teardown()


@pytest.fixture
def scheduler(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    """A scheduler process; the value is its log."""
    log = tmp_path / "scheduler.log"
    argv = (sys.executable, "-m", "precompact_scheduler")
    with Supervisor() as supervisor:
        supervisor.start(Program(name="scheduler", argv=argv, env=as_environment(settings)), log=log)
        yield log


@pytest.fixture
def filled(server: EmbeddedRedis) -> Iterator[Filled]:
    """A session that no append has made yet."""
    with sync_client(server.url) as client:
        yield Filled(SyncStore(client), fix_layout(client, 16), "acme", "s1", window=40_000)


def slow(filled: Filled, delay_s: float) -> None:
    """The tenant's provider takes so long."""
    spec = ProviderSpec(name=ProviderName.SCRIPTED, delay_s=delay_s)
    filled.store.run(save_policy(filled.tenant, Policy(providers=(spec,))))


def only_job(filled: Filled) -> JobTag:
    """The session's one job, whatever became of it."""
    found = eventually(lambda: filled.store.run(reading.jobs(filled.keys)), 20, "a job")
    assert len(found) == 1
    return found[0]


def running(filled: Filled) -> JobTag:
    """The job, once a worker has told where it cuts."""
    eventually(lambda: only_job(filled).upto, 20, "a running job")
    return only_job(filled)


def test_a_worker_killed_in_the_middle_of_a_job_is_replaced_after_the_lease(
    celery_setup: CeleryTestSetup, scheduler: Path, filled: Filled
) -> None:
    """SIGKILL, another worker: done again, under a new fence, stored once; and nothing of the text leaks."""
    slow(filled, 3)
    filled.append(turns(60, words=40) + turns(1, words=1) + [{"role": "user", "content": SECRET}])
    assert running(filled).fence == 1
    worker = celery_setup.worker
    worker.kill()
    assert worker.container.status == "exited"
    worker.restart()
    eventually(lambda: only_job(filled).fence == 2, LEASE_S + 15, "a second start")
    eventually(lambda: only_job(filled).state == JobState.DONE, 20, "the end of the job")
    full = [tag for tag in filled.view().candidates if tag.slot != "floor"]
    assert len(full) == 1
    assert only_job(filled).attempt == 2
    assert SECRET not in worker.logs() + scheduler.read_text(encoding="utf-8")


def test_a_stopped_worker_gives_its_job_back_at_once(
    celery_setup: CeleryTestSetup, scheduler: Path, filled: Filled
) -> None:
    """SIGTERM: running jobs are put back without an attempt spent, and the process ends within seconds."""
    slow(filled, 60)
    filled.append(turns(60, words=40))
    running(filled)
    took_s = celery_setup.worker.container.terminate()
    assert took_s < 6
    job = only_job(filled)
    assert job.attempt == 0
    assert job.state in {JobState.READY, JobState.QUEUED}


def test_messages_carry_ids_and_nothing_else(
    settings: Settings, scheduler: Path, filled: Filled, server: Any
) -> None:
    """What Flower and the broker see."""
    filled.append([{"role": "user", "content": SECRET}, *turns(60, words=40)])
    job = only_job(filled)
    with sync_client(settings.broker_url or "") as broker:
        eventually(lambda: broker.llen("compact.urgent"), 10, "a message")
        raw = b"".join(broker.lrange("compact.urgent", 0, -1))
    assert job.jid.encode() in raw
    assert b"argsrepr" in raw
    assert SECRET.encode() not in raw


def test_urgent_messages_are_taken_before_those_that_can_wait(
    settings: Settings, celery_setup_app: Celery, tmp_path: Path
) -> None:
    """However long the others have been there."""
    lanes = [Lane.MAINT, Lane.SPECULATIVE, Lane.SPECULATIVE, Lane.NORMAL, Lane.URGENT]
    jobs = [Message("acme", "nobody", f"{number}-{lane}", lane) for number, lane in enumerate(lanes)]
    Courier(celery_setup_app).send(jobs)
    worker = WorkerProcess(as_environment(settings), tmp_path / "ordered.log", ("--concurrency", "1"))
    try:
        eventually(lambda: worker.logs().count("job ended") == len(jobs), 20, "all messages read")
    finally:
        worker.teardown()
    lines = [json.loads(line) for line in worker.logs().splitlines() if "job ended" in line]
    assert [line["jid"] for line in lines] == [
        "4-compact.urgent",
        "3-compact.normal",
        "1-compact.speculative",
        "2-compact.speculative",
        "0-maint",
    ]
