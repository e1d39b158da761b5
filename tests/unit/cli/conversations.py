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


def chat_session(turns: int, *, words: int = 120) -> list[dict[str, Any]]:
    """The same session in the form of Chat Completions."""
    return [entry for message in agent_session(turns, words=words) for entry in _as_chat(message)]


def responses_session(turns: int, *, words: int = 120) -> list[dict[str, Any]]:
    """The same session as Responses items."""
    return [item for message in agent_session(turns, words=words) for item in _as_items(message)]


def _as_chat(message: dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(message["content"], str):
        return [message]
    if message["role"] == "user":
        return [
            {"role": "tool", "tool_call_id": part["tool_use_id"], "content": part["content"]}
            for part in message["content"]
        ]
    text, call = message["content"]
    function = {"name": call["name"], "arguments": json.dumps(call["input"])}
    return [
        {
            "role": "assistant",
            "content": text["text"],
            "tool_calls": [{"id": call["id"], "type": "function", "function": function}],
        }
    ]


def _as_items(message: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for entry in _as_chat(message):
        if entry["role"] == "tool":
            output = {"call_id": entry["tool_call_id"], "output": entry["content"]}
            items.append({"type": "function_call_output", **output})
            continue
        items.append({"role": entry["role"], "content": entry["content"]})
        items += [
            {"type": "function_call", "call_id": call["id"], **call["function"]}
            for call in entry.get("tool_calls", ())
        ]
    return items


def write(path: Path, body: Any) -> Path:
    """The file, written as JSON."""
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def write_session(path: Path, messages: list[dict[str, Any]], **more: Any) -> Path:
    """A recording in the Anthropic format."""
    return write(path, {"format": "anthropic", "model": "claude-sonnet-4-5", "messages": messages, **more})
