"""A log of half a gigabyte is inspected in the memory that a small one takes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LOG_BYTES = 500 * 1024 * 1024
MOST_KIB = 300 * 1024
CONTEXT_STEPS = 300
"""Calls between two compactions."""
_MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""
"""Runs a command from a small process: a child's greatest size counts its parent's at the start, and a test run is large."""
_OWN_CHARS = 9_000
"""Of what Claude Code notes down for itself beside each result."""


@pytest.mark.slow
def test_half_a_gigabyte_is_inspected_within_300_megabytes(tmp_path: Path) -> None:
    """Every message is read, every compaction found."""
    path, written, steps = tmp_path / "big.jsonl", 0, 0
    with path.open("w", encoding="utf-8") as out:
        for lines in _steps():
            written += out.write(lines)
            steps += 1
            if written >= LOG_BYTES:
                break
    page, most_kib = _inspected(path, tmp_path / "page.json")
    assert page["entries"] == 1 + 2 * steps
    assert page["model_calls"] == steps
    assert len(page["log"]["boundaries"]) == steps // CONTEXT_STEPS
    assert page["log"]["damaged_lines"] == 0
    assert page["tokens"] > LOG_BYTES / 40
    assert most_kib < MOST_KIB


def _inspected(path: Path, told: Path) -> tuple[dict[str, Any], int]:
    """The page, and the most memory the process had, in KiB."""
    command = [
        sys.executable,
        "-c",
        _MEASURED,
        sys.executable,
        "-m",
        "precompact_cli",
        "inspect",
        str(path),
        "--json",
    ]
    with told.open("wb") as out:
        measured = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=True)
    page: dict[str, Any] = json.loads(told.read_bytes())
    return page, int(measured.stderr.split()[-1]) // (1024 if sys.platform == "darwin" else 1)


def _steps() -> Iterator[str]:
    """The lines of one step after the other, for ever."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4_000)]
    texts = [" ".join(rng.choices(words, k=rng.randint(50, 2_000))) for _ in range(100)]
    log = _Log()
    first = log.line("user", message={"role": "user", "content": "go"})
    step = 0
    while True:
        step += 1
        lines = [first] if step == 1 else []
        lines += log.step(step, texts[step % len(texts)])
        if step % CONTEXT_STEPS == 0:
            lines.append(log.line("system", subtype="compact_boundary"))
            lines.append(
                log.line("user", isCompactSummary=True, message={"role": "user", "content": texts[0]})
            )
        yield "".join(lines)


class _Log:
    def __init__(self) -> None:
        self._written = 0

    def line(self, kind: str, **more: Any) -> str:
        """One line that follows the one before."""
        parent = f"{self._written:032d}" if self._written else None
        self._written += 1
        told = {"parentUuid": parent, "uuid": f"{self._written:032d}", "isSidechain": False, "type": kind}
        return json.dumps({**told, **more}) + "\n"

    def step(self, step: int, text: str) -> list[str]:
        """A reply in two lines, its result, and what the tool keeps for itself."""
        usage = {"input_tokens": 3, "cache_read_input_tokens": 20_000 + step % CONTEXT_STEPS * 500}
        call = {
            "type": "tool_use",
            "id": f"t{step}",
            "name": "Read",
            "input": {"file_path": f"m{step % 50}.py"},
        }
        reply = {"id": f"m{step}", "role": "assistant", "model": "claude-opus-4-6", "usage": usage}
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": f"{step} {text}"}
        return [
            self.line("assistant", message={**reply, "content": [{"type": "text", "text": f"Step {step}."}]}),
            self.line("assistant", message={**reply, "content": [call]}),
            self.line("user", message={"role": "user", "content": [result]}, toolUseResult={"file": text}),
            self.line("progress", data={"own": "x" * _OWN_CHARS}),
        ]
