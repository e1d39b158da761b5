"""Celery as a courier: one app for those who send and those who work, ids only, no results.

The ledger in Redis is the truth. A message that is lost, doubled or late does no harm: the sweeper sends again, and a
worker asks the ledger before it starts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from celery import Celery
from kombu import Queue
from kombu.exceptions import KombuError

from precompact_shared.errors import Unavailable

COMPACT = "precompact.compact"
"""Task: make the candidate that a job of the ledger asks for."""
BATCH = 200
VISIBILITY_TIMEOUT_S = 900
"""Longer than any job: the ledger's lease finds a dead worker's job long before."""


class Lane(StrEnum):
    """Queues, in the order a worker serves them."""

    URGENT = "compact.urgent"
    NORMAL = "compact.normal"
    SPECULATIVE = "compact.speculative"
    MAINT = "maint"


LANES: dict[str, Lane] = {
    "due": Lane.URGENT,
    "overflow": Lane.URGENT,
    "manual": Lane.URGENT,
    "refresh": Lane.NORMAL,
    "branch": Lane.NORMAL,
}
"""By kind of job; any other kind is speculative."""


@dataclass(frozen=True, slots=True)
class Message:
    """One job to hand to a worker. `mark` tells a resend from the first: it ends the task id."""

    tenant: str
    session: str
    jid: str
    lane: Lane
    mark: str = "1"

    @property
    def task_id(self) -> str:
        """What Flower shows and searches: tenant, session, version and kind stand in the job's id."""
        return f"{self.jid}:{self.mark}"


def lane_of(kind: str, urgency_ms: int = 1) -> Lane:
    """The queue of a job; one whose limit is reached goes to the urgent one, whatever its kind."""
    return Lane.URGENT if urgency_ms <= 0 else LANES.get(kind, Lane.SPECULATIVE)


def make_app(broker_url: str, *, client_name: str) -> Celery:
    """The Celery app. It connects when it is used first."""
    app = Celery("precompact", broker=broker_url, set_as_current=False)
    app.conf.update(settings_of(client_name))
    return app


def sender_app(broker_url: str, *, client_name: str) -> Celery:
    """The same app for one who only sends: a broker that is down is told within a second, not after twelve."""
    app = make_app(broker_url, client_name=client_name)
    hasty = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **hasty}
    return app


def settings_of(client_name: str) -> dict[str, Any]:
    """Celery's settings, the same in every process; all clients of a broker must agree on the visibility timeout."""
    return {
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure": True,
        "task_acks_on_timeout": True,
        "worker_prefetch_multiplier": 1,
        "worker_send_task_events": True,
        "task_send_sent_event": True,
        "worker_hijack_root_logger": False,
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_enable_remote_control": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_queues": [Queue(lane.value, routing_key=lane.value) for lane in Lane],
        "task_default_queue": Lane.NORMAL.value,
        "task_create_missing_queues": False,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_TIMEOUT_S,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "queue_order_strategy": "priority",
            "socket_timeout": 15,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 25,
            "max_connections": 64,
            "client_name": client_name,
        },
    }


class Courier:
    """Sends messages in batches through one held producer. Not for use by several threads at once."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Any = None
        self._producer: Any = None

    def send(self, messages: Sequence[Message]) -> None:
        """Sends all, over a new connection if the held one has died.

        Raises `Unavailable` when the broker does not answer: some may have gone out then, which does no harm.
        """
        if messages and not self._try(messages) and not self._try(messages):
            raise Unavailable("The broker does not answer; jobs wait in the ledger and are sent later.")

    def close(self) -> None:
        """Gives the connection up; the next `send` makes another."""
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(*self._connection_errors()):
                connection.release()

    def _try(self, messages: Sequence[Message]) -> bool:
        try:
            self._send(messages)
        except self._connection_errors():
            self.close()
            return False
        return True

    def _send(self, messages: Sequence[Message]) -> None:
        if self._producer is None:
            self._connection = self._app.connection_for_write()
            self._producer = self._app.amqp.Producer(self._connection)
        with self._producer.batch(BATCH):
            for message in messages:
                self._publish(message)

    def _publish(self, message: Message) -> None:
        ids = {"tenant": message.tenant, "session": message.session, "jid": message.jid}
        self._app.send_task(
            COMPACT,
            kwargs=ids,
            task_id=message.task_id,
            queue=message.lane.value,
            producer=self._producer,
            ignore_result=True,
            retry=False,
            argsrepr="()",
            kwargsrepr=repr(ids),
        )

    def _connection_errors(self) -> tuple[type[BaseException], ...]:
        known = self._app.connection_for_write()
        return (OSError, KombuError, *known.connection_errors, *known.channel_errors)
