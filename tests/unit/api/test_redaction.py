"""Placeholders of redacted entries keep what pairing needs, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from precompact_api.redaction import redacted
from precompact_shared.engine.formats import facts
from precompact_shared.engine.types import Format

SECRET = "xylophone"
MESSAGES: dict[Format, list[dict[str, Any]]] = {
    Format.ANTHROPIC: [
        {"role": "user", "content": SECRET},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": SECRET, "signature": SECRET},
                {"type": "text", "text": SECRET},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": SECRET}},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": SECRET}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": SECRET}]},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": SECRET, "is_error": True},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": SECRET}},
            ],
        },
    ],
    Format.OPENAI_CHAT: [
        {"role": "system", "content": SECRET},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": SECRET,
            "tool_calls": [
                {"id": "f1", "type": "function", "function": {"name": "f", "arguments": SECRET}},
                {"id": "c1", "type": "custom", "custom": {"name": "c", "input": SECRET}},
            ],
        },
        {"role": "tool", "tool_call_id": "f1", "content": SECRET},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": SECRET}},
        {"role": "function", "name": "old", "content": SECRET},
    ],
    Format.OPENAI_RESPONSES: [
        {"role": "user", "content": SECRET},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SECRET}]},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": SECRET}]},
        {"type": "function_call", "call_id": "f1", "name": "f", "arguments": SECRET},
        {"type": "function_call_output", "call_id": "f1", "output": SECRET},
        {"type": "custom_tool_call", "call_id": "c1", "name": "c", "input": SECRET},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": SECRET},
        {"type": "local_shell_call", "call_id": "l1", "action": {"command": [SECRET]}},
    ],
}
CASES = [(wire, message) for wire, messages in MESSAGES.items() for message in messages]


@pytest.mark.parametrize(("wire", "message"), CASES)
def test_a_placeholder_pairs_as_the_message_did_and_holds_none_of_its_text(
    wire: Format, message: dict[str, Any]
) -> None:
    """Same role, same calls, same results at the same parts."""
    placeholder = redacted(wire, message)
    before, after = facts(wire, message), facts(wire, placeholder)
    assert SECRET not in json.dumps(placeholder)
    assert after.role is before.role
    assert [(call.id, call.kind) for call in after.calls] == [(call.id, call.kind) for call in before.calls]
    assert [(r.id, r.kind, r.part) for r in after.results] == [(r.id, r.kind, r.part) for r in before.results]
