"""Becomes another program that is told to end when the process that started it dies, however it dies.

Run by path, not by import, so that it starts in a few milliseconds: `python -I -S tether.py PARENT_PID PROGRAM ARG…`.
Linux only does the tethering; elsewhere this is a plain exec and the parent's own clean-up must do.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Asks for SIGTERM at the parent's death, looks whether it died already, and becomes the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(143)
    os.execvp(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main()
