"""Small conversations written to files, as the tests of the command line read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def agent_session(turns: int, *, words: int = 120) -> list[dict[str, Any]]:
    """An Anthropic session: a request, then `turns` calls of a tool with their results, then an answer."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Please fix the flaky test. Never touch the lock file."}
    ]
    for turn in range(turns):
        call = {
            "type": "tool_use",
            "id": f"t{turn}",
            "name": "Read",
            "input": {"file_path": f"src/m{turn}.py"},
        }
        output = " ".join(f"line{turn}x{word}" for word in range(words))
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": output}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}."}, call]})
        messages.append({"role": "user", "content": [result]})
    messages.append({"role": "assistant", "content": "Fixed."})
    return messages


def write(path: Path, body: Any) -> Path:
    """The file, written as JSON."""
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def write_session(path: Path, messages: list[dict[str, Any]], **more: Any) -> Path:
    """A recording in the Anthropic format."""
    return write(path, {"format": "anthropic", "model": "claude-sonnet-4-5", "messages": messages, **more})
