"""Starts programs as children, watches them, and leaves none behind.

Each child leads a session and process group of its own, so Ctrl-C reaches only us and we end the children in order.
A child that outlives us is told to end by the kernel (`tether`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Protocol, Self

from precompact_shared.clock import monotonic_s, sleep_s
from precompact_shared.errors import Configuration, Unavailable
from precompact_shared.settings import environment

TETHER = Path(__file__).with_name("tether.py")
POLL_S = 0.02
BACKOFF_FIRST_S = 0.5
BACKOFF_MOST_S = 15.0
STEADY_AFTER_S = 30.0
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TextSink(Protocol):
    """Where prefixed lines go: a terminal, or a list in a test."""

    def write(self, text: str, /) -> object:
        """Takes whole lines."""


def free_port() -> int:
    """A port on the loopback address that was free a moment ago; be ready to try again."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: int | IO[bytes] = subprocess.DEVNULL,
    keep_open: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Starts `argv` in its own process group, tethered to this process. `env` is added to our environment.

    `keep_open` are file descriptors that the child holds for as long as it lives.
    On Linux a child is told to end when the *thread* that started it ends: start from one that lives on.
    """
    tethered = [sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), *argv]
    return subprocess.Popen(
        tethered,
        env={**environment(), **(env or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=keep_open,
    )


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a child and all that it started; one that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def end_group(process: subprocess.Popen[bytes], *, grace_s: float) -> int:
    """Asks with SIGTERM, kills what is left after `grace_s`, and returns the exit code."""
    if process.poll() is None:
        signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
    signal_group(process, signal.SIGKILL)
    return process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start and how to tell that it is ready."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to our environment."""
    cwd: Path | None = None
    ready: Callable[[], bool] | None = None
    """Asked again and again until true; None = ready as soon as it runs."""
    ready_deadline_s: float = 60.0
    restarts: bool = False
    """Whether it is started again, with a growing pause, when it ends by itself."""
    grace_s: float = 8.0
    """Seconds between SIGTERM and SIGKILL."""


class Child:
    """A program that was started: its process, its output, and how often it was started."""

    def __init__(self, program: Program, log: Path | TextSink) -> None:
        self.program = program
        self.starts = 0
        self._group_ended = False
        self._log = log
        self._backoff_s = BACKOFF_FIRST_S
        self._started_s = 0.0
        self._due_s: float | None = None
        self._reader: threading.Thread | None = None
        self.process: subprocess.Popen[bytes] = self._start()

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def pid(self) -> int:
        """Process id of the current run."""
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs. Whoever sees the end first ends what it left running, while its id is still its own."""
        code = self.process.poll()
        if code is not None and not self._group_ended:
            self._end_rest()
        return code

    def kill(self) -> None:
        """SIGKILL to it and all it started, as a crash would; waits until it is gone."""
        if self.exit_code is None:
            self._end_rest()
            self.process.wait()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL after the program's grace."""
        if self.exit_code is None:
            end_group(self.process, grace_s=self.program.grace_s)
            self._end_rest()

    def restart(self) -> None:
        """Starts it anew, after ending it if need be."""
        self.stop()
        self.process = self._start()

    def drain_log(self) -> None:
        """Waits until the sink has got the last lines of a child that ended."""
        if self._reader is not None:
            self._reader.join(timeout=1.0)

    def revive(self, now_s: float) -> bool:
        """Restarts a program that ended by itself, once its pause is over. True when it did."""
        if self.exit_code is None or not self.program.restarts:
            return False
        if self._due_s is None:
            steady = now_s - self._started_s >= STEADY_AFTER_S
            self._backoff_s = BACKOFF_FIRST_S if steady else min(self._backoff_s * 2, BACKOFF_MOST_S)
            self._due_s = now_s + self._backoff_s
        if now_s < self._due_s:
            return False
        self.restart()
        return True

    def wait_ready(self) -> None:
        """Returns when `ready` says so. Raises `Unavailable` when it ends first or the deadline passes."""
        ready = self.program.ready
        deadline_s = monotonic_s() + self.program.ready_deadline_s
        while ready is not None and not ready():
            if self.exit_code is not None:
                raise Unavailable(
                    f"{self.name} ended before it was ready; read its log.", exit_code=self.exit_code
                )
            if monotonic_s() > deadline_s:
                raise Unavailable(
                    f"{self.name} is not ready; read its log.", waited_s=self.program.ready_deadline_s
                )
            sleep_s(POLL_S)

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        self._group_ended = False
        self._due_s = None
        self._started_s = monotonic_s()
        program = self.program
        if isinstance(self._log, Path):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab") as file:
                return spawn(program.argv, env=program.env, cwd=program.cwd, output=file)
        process = spawn(program.argv, env=program.env, cwd=program.cwd, output=subprocess.PIPE)
        self._reader = threading.Thread(
            target=_copy_lines,
            args=(process, program.name, self._log),
            name=f"log-{program.name}",
            daemon=True,
        )
        self._reader.start()
        return process

    def _end_rest(self) -> None:
        signal_group(self.process, signal.SIGKILL)
        self._group_ended = True


class Supervisor:
    """Children that live and die together. Leaving the `with` block ends them all, last started first."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, program: Program, *, log: Path | TextSink) -> Child:
        """Starts a program; `log` is a file that is appended to, or a sink that gets `name | line`."""
        child = Child(program, log)
        self.children.append(child)
        return child

    def wait_ready(self) -> None:
        """Waits for every child in the order of starting."""
        for child in self.children:
            child.wait_ready()

    def watch(self, *, until: Callable[[], bool]) -> None:
        """Keeps the children alive until told to stop. Raises `Unavailable` when one ends that must not."""
        while not until():
            for child in self.children:
                if child.exit_code is not None and not child.program.restarts:
                    raise Unavailable(
                        f"{child.name} ended by itself; read its log.", exit_code=child.exit_code
                    )
                child.revive(monotonic_s())
            sleep_s(POLL_S * 5)

    def stop(self) -> None:
        """Ends all: SIGTERM to every child at once, each with its grace. A second Ctrl-C kills at once."""
        with _hurrying() as hurried:
            for child in reversed(self.children):
                if child.exit_code is None:
                    signal_group(child.process, signal.SIGTERM)
            begun_s = monotonic_s()
            while not hurried() and any(self._has_time(child, begun_s) for child in self.children):
                sleep_s(POLL_S)
            for child in self.children:
                child.kill()
                child.drain_log()
        self.children.clear()

    @staticmethod
    def _has_time(child: Child, begun_s: float) -> bool:
        return child.exit_code is None and monotonic_s() - begun_s < child.program.grace_s


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP end the main thread as Ctrl-C does: by KeyboardInterrupt, so that `with` cleans up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


@contextlib.contextmanager
def _hurrying() -> Iterator[Callable[[], bool]]:
    """Signals no longer interrupt; the value tells whether one came."""
    came = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        came.set()

    with _handling(note):
        yield came.is_set


@contextlib.contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _copy_lines(process: subprocess.Popen[bytes], name: str, sink: TextSink) -> None:
    if process.stdout is None:
        raise Configuration("This child's output goes to no pipe; start it with one.")
    with process.stdout as lines:
        for line in lines:
            sink.write(f"{name:>10} | {line.decode(errors='replace').rstrip()}\n")
