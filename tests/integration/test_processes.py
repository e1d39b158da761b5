"""Children are started, watched, restarted and never left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from precompact_shared.errors import Unavailable
from precompact_shared.processes import Program, Supervisor, interruptible
from tests.support.waiting import eventually

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
HAS_CHILD = (
    "import subprocess, sys, time; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True); time.sleep(600)"
)


class Lines:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        """Takes whole lines."""
        self.text += text


def python(name: str, code: str, **options: object) -> Program:
    """A program that runs a line of Python."""
    return Program(name=name, argv=(sys.executable, "-c", code), **options)  # type: ignore[arg-type]


def is_gone(pid: int) -> bool:
    """Whether no live process has this id (a zombie is gone)."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def test_leaving_the_block_ends_every_child_and_what_they_started(tmp_path: Path) -> None:
    """A grandchild does not survive either, nor does one that ignores SIGTERM."""
    log = tmp_path / "log dir" / "parent.log"
    stubborn_log = tmp_path / "stubborn.log"
    with Supervisor() as supervisor:
        parent = supervisor.start(python("parent", HAS_CHILD), log=log)
        stubborn = supervisor.start(python("stubborn", STUBBORN, grace_s=0.3), log=stubborn_log)
        grandchild = int(eventually(log.read_text, 10, "the grandchild"))
        eventually(stubborn_log.read_text, 10, "the stubborn one")
        assert not is_gone(grandchild)
    assert is_gone(parent.pid)
    assert is_gone(stubborn.pid)
    eventually(lambda: is_gone(grandchild), 5, "the end of the grandchild")


def test_a_child_is_ready_when_it_says_so(tmp_path: Path) -> None:
    """Readiness is asked for, not slept for."""
    flag = tmp_path / "ready"
    code = f"import pathlib, time; pathlib.Path({str(flag)!r}).touch(); time.sleep(600)"
    with Supervisor() as supervisor:
        supervisor.start(python("slow", code, ready=flag.exists, ready_deadline_s=10), log=tmp_path / "log")
        supervisor.wait_ready()
        assert flag.exists()


def test_a_child_that_ends_before_it_is_ready_is_told_at_once(tmp_path: Path) -> None:
    """Nobody waits out the deadline of a dead process."""
    with Supervisor() as supervisor:
        supervisor.start(python("dead", "raise SystemExit(3)", ready=lambda: False), log=tmp_path / "log")
        with pytest.raises(Unavailable, match=r"dead ended before it was ready.*exit_code=3"):
            supervisor.wait_ready()


def test_a_child_that_never_gets_ready_is_given_up(tmp_path: Path) -> None:
    """The deadline is the program's own."""
    with Supervisor() as supervisor:
        supervisor.start(
            python("lazy", SLEEPS, ready=lambda: False, ready_deadline_s=0.1), log=tmp_path / "log"
        )
        with pytest.raises(Unavailable, match="lazy is not ready"):
            supervisor.wait_ready()


def test_lines_reach_the_sink_with_the_name_in_front() -> None:
    """Several programs share one terminal; the environment given is added to ours."""
    lines = Lines()
    code = "import os; print(os.environ['GREETING'], bool(os.environ['PATH']))"
    with Supervisor() as supervisor:
        supervisor.start(python("speaker", code, env={"GREETING": "hello"}), log=lines)
        eventually(lambda: lines.text, 10, "the line")
    assert lines.text == "   speaker | hello True\n"


def test_a_killed_child_is_started_again_after_a_pause(tmp_path: Path) -> None:
    """`watch` revives what restarts."""
    with Supervisor() as supervisor:
        child = supervisor.start(python("phoenix", SLEEPS, restarts=True), log=tmp_path / "log")
        first = child.pid
        child.kill()
        supervisor.watch(until=lambda: child.starts == 2)
        assert child.pid != first
        assert child.exit_code is None


def test_a_child_that_must_not_end_ends_the_watch(tmp_path: Path) -> None:
    """Half a service is no service."""
    with Supervisor() as supervisor:
        supervisor.start(python("brief", "raise SystemExit(4)"), log=tmp_path / "log")
        with pytest.raises(Unavailable, match=r"brief ended by itself.*exit_code=4"):
            supervisor.watch(until=lambda: False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_ends_the_children_first(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, `kill` and a closed terminal leave nothing behind."""
    log = tmp_path / "log"
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interruptible(), Supervisor() as supervisor:
        child = supervisor.start(python("child", SLEEPS), log=log)
        eventually(log.read_text, 10, "the child")
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
        supervisor.watch(until=lambda: False)
    assert is_gone(child.pid)
    assert signal.getsignal(number) == before


def test_children_end_when_we_are_killed(tmp_path: Path) -> None:
    """SIGKILL of the supervisor gives it no chance to clean up; the kernel tells its children."""
    code = (
        "import sys, pathlib\n"
        "from precompact_shared.processes import Program, Supervisor\n"
        "log = pathlib.Path(sys.argv[1])\n"
        f"Supervisor().start(Program(name='child', argv=(sys.executable, '-c', {SLEEPS!r})), log=log)\n"
        "print(Supervisor and 'started', flush=True)\n"
        "sys.stdin.read()\n"
    )
    log = tmp_path / "log"
    ours = subprocess.Popen(
        [sys.executable, "-c", code, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert ours.stdin is not None
    assert ours.stdout is not None
    ours.stdout.readline()
    eventually(log.read_text, 10, "the child")
    (child,) = psutil.Process(ours.pid).children()
    ours.kill()
    ours.wait()
    ours.stdin.close()
    ours.stdout.close()
    eventually(lambda: is_gone(child.pid), 5, "the end of the child")
