"""The Celery tasks: thin, ids only, no results."""

from __future__ import annotations

from collections.abc import Callable

from celery import Celery
from celery.exceptions import Reject

from precompact_shared.courier import COMPACT
from precompact_worker.run import Ref
from precompact_worker.runtime import Runtime


def register(app: Celery, runtime_of: Callable[[], Runtime]) -> None:
    """Puts the tasks into the app; `runtime_of` gives the process's runtime, made before the first task."""

    @app.task(name=COMPACT, ignore_result=True)
    def compact(tenant: str, session: str, jid: str) -> None:
        """Makes the candidate that a job of the ledger asks for."""
        runtime = runtime_of()
        if runtime.is_draining:
            # Not begun: the message goes back to the queue, for a worker that stays.
            raise Reject("draining", requeue=True)
        runtime.run(Ref(tenant, session, jid))
