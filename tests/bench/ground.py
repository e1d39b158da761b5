"""What is measured: the service as processes, the bare app beside it, and one Redis under both."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from precompact_shared.policy import Policy
from precompact_shared.processes import Child, Program, Supervisor, free_port
from tests.bench.load import Generator
from tests.bench.turns import FORMAT, MODEL, OPENING, turn
from tests.bench.wire import Line, Place
from tests.support.stack import Shape, Stack
from tests.support.waiting import eventually

APPEND_AT_ONCE = 400


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds used so far by a process (the API, unless said otherwise) and by Redis."""

    app_s: float
    redis_s: float

    @property
    def total_s(self) -> float:
        """Both together."""
        return self.app_s + self.redis_s

    def since(self, before: Cpu) -> Cpu:
        """What was used between two readings."""
        return Cpu(self.app_s - before.app_s, self.redis_s - before.redis_s)


@dataclass(frozen=True, slots=True)
class Ground:
    """One running service with its baseline."""

    stack: Stack
    bare_child: Child
    bare: Place
    generator: Generator

    def tenant(self, policy: Policy | None = None) -> tuple[str, Place]:
        """A new tenant, and where its calls go."""
        tenant, key = self.stack.new_tenant(policy)
        return tenant, Place.of(self.stack.api_urls[0], key)

    def scheduler_cpu(self) -> Cpu:
        """What the scheduler and Redis have used so far."""
        return Cpu(_cpu_s(self.stack.child("scheduler").pid), self.cpu().redis_s)

    def own_cpu(self) -> Cpu:
        """What this process and Redis have used so far."""
        return Cpu(time.process_time(), self.cpu().redis_s)

    def cpu(self) -> Cpu:
        """What the API and Redis have used so far."""
        told: Mapping[str, Any] = self.stack.client.info("cpu")
        redis_s = float(told["used_cpu_user"]) + float(told["used_cpu_sys"])
        return Cpu(_cpu_s(self.stack.child("api").pid), redis_s)

    def bare_cpu(self) -> Cpu:
        """What the bare app and Redis have used so far."""
        return Cpu(_cpu_s(self.bare_child.pid), self.cpu().redis_s)


@contextmanager
def ground(shape: Shape) -> Iterator[Ground]:
    """Starts all, waits until it works, ends all."""
    with (
        TemporaryDirectory(prefix="bench-") as folder,
        Stack(Path(folder), shape) as stack,
        Supervisor() as others,
        Generator() as generator,
    ):
        port = free_port()
        argv = (sys.executable, "-m", "tests.bench.bare", str(port), stack.state.url)
        child = others.start(Program(name="bare", argv=argv), log=Path(folder) / "bare.log")
        place = Place("127.0.0.1", port)
        eventually(lambda: _answers(place), 30, "the bare app answers")
        yield Ground(stack, child, place, generator)


def open_session(line: Line, session: str, *, window: int, turns: int = 0, size_bytes: int = 2_000) -> None:
    """A session that holds the opening and so many turns, appended in large pieces."""
    made = {"id": session, "format": FORMAT, "model": MODEL, "window": window, "max_output": 8_000}
    line.call("/v1/sessions", made).json()
    messages = [OPENING, *(message for number in range(turns) for message in turn(number, size_bytes))]
    for at in range(0, len(messages), APPEND_AT_ONCE):
        part = {"seen": {"version": 0, "length": at}, "messages": messages[at : at + APPEND_AT_ONCE]}
        line.call(f"/v1/sessions/{session}/messages", part).json()


def _cpu_s(pid: int) -> float:
    process = psutil.Process(pid)
    return sum(
        each.cpu_times().user + each.cpu_times().system
        for each in (process, *process.children(recursive=True))
    )


def _answers(place: Place) -> bool:
    try:
        with Line(place) as line:
            return line.call("/ping", {}).status == 200
    except OSError:
        return False
