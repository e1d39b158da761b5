"""How a command ends: codes that scripts can use, and errors as one line that says what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from io import TextIOWrapper

from precompact_cli.plain import plain
from precompact_shared.errors import PrecompactError, Refused


class Exit(IntEnum):
    """Exit codes, the same for every command."""

    OK = 0
    FAILED = 1
    """It was tried and did not work, or what was checked is not right."""
    INPUT = 2
    """The input or an option is wrong; nothing was done."""
    NOTHING = 3
    """There was nothing to do."""
    INTERRUPTED = 130


class InputRefused(Refused):
    """The input is not what this command reads; give it another."""

    code = "input_refused"


def fail(message: str, code: Exit) -> SystemExit:
    """Tells the user on stderr; raise what it returns."""
    sys.stderr.write(f"precompact: {plain(message)}\n")
    return SystemExit(int(code))


@contextmanager
def told() -> Iterator[None]:
    """Errors of ours become a line on stderr and an exit code; anything else is a bug and shows where.

    What the terminal's encoding lacks is shown as `?`: a bar is no reason to stop.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        yield
    except InputRefused as error:
        raise fail(str(error), Exit.INPUT) from None
    except PrecompactError as error:
        raise fail(str(error), Exit.FAILED) from None
    except KeyboardInterrupt:
        raise fail("stopped", Exit.INTERRUPTED) from None


def print_json(value: object) -> None:
    """One line of JSON on stdout; text that UTF-8 cannot hold is escaped."""
    try:
        line = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        line = json.dumps(value).encode()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.flush()
