"""How the worker is started."""

from __future__ import annotations

import pytest

from precompact_shared.courier import COMPACT
from precompact_shared.errors import Configuration
from precompact_shared.settings import Settings
from precompact_worker.__main__ import arguments
from precompact_worker.runtime import Runtime


def test_the_worker_serves_the_urgent_queue_first_on_threads() -> None:
    """Celery takes the queues in the order they are named."""
    told = arguments(7)
    assert "--queues=compact.urgent,compact.normal,compact.speculative,maint" in told
    assert {"--pool=threads", "--concurrency=7", "--without-gossip", "--without-mingle"} < set(told)


def test_without_urls_it_says_what_to_set() -> None:
    """Not a traceback of Celery."""
    with pytest.raises(Configuration, match="PRECOMPACT_STATE_REDIS_URL"):
        Runtime(Settings(state_redis_url=None, broker_url=None))


def test_the_task_is_known_by_its_name() -> None:
    """Schedulers send by name and import nothing of the worker."""
    assert COMPACT == "precompact.compact"
