"""Writes `session.json`, the same bytes on every run: `python -m precompact_cli.sample.write_sample`."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from precompact_cli.sample import SESSION
from precompact_cli.sample.conversation import CHARS_PER_TOKEN, Conversation, Desk
from precompact_cli.sample.harbor import source_tree
from precompact_cli.sample.story import tell
from precompact_cli.sample.workbench import Workbench

SEED = 2207
SYSTEM = """You are a coding agent. You work in the checkout at /home/dev/harbor with the tools below, for a developer who
reads along and may interrupt you.

* Look before you change: read the files a change touches, and the tests that hold them.
* Follow the rules of the repository and what the developer has asked for; a wish holds until it is taken back.
* Small steps. Run the tests that a step may have broken before you take the next one.
* Say in a sentence or two what you found and what you do next. No praise, no lists of what you might do.
* Calls that do not depend on each other go out together.
* Never commit unless you are asked to. Never print secrets."""
TOOLS = (
    (
        "Read",
        "Lines of a file, numbered.",
        {"file_path": "string", "offset": "integer", "limit": "integer"},
        ["file_path"],
    ),
    (
        "Write",
        "Create or replace a file.",
        {"file_path": "string", "content": "string"},
        ["file_path", "content"],
    ),
    (
        "Edit",
        "Replace a passage that occurs once in a file.",
        {"file_path": "string", "old_string": "string", "new_string": "string"},
        ["file_path", "old_string", "new_string"],
    ),
    ("Bash", "Run a command in the checkout.", {"command": "string", "timeout": "integer"}, ["command"]),
    (
        "Grep",
        "Lines that match a regular expression.",
        {"pattern": "string", "path": "string", "context": "integer"},
        ["pattern"],
    ),
    ("Glob", "Paths that match a pattern.", {"pattern": "string"}, ["pattern"]),
)


def build() -> dict[str, Any]:
    """The session as a provider-JSON file."""
    tools = [_tool(*tool) for tool in TOOLS]
    rng = Random(SEED)
    fixed_tokens = round(len(SYSTEM + json.dumps(tools)) / CHARS_PER_TOKEN)
    talk = Conversation(fixed_tokens, rng)
    tell(Desk(Workbench(source_tree()), talk), rng)
    return {
        "name": "sample--harbor-rate-limits",
        "format": "anthropic",
        "view": "full",
        "model": "claude-sonnet-4-6",
        "source": "written for precompact by cli/precompact_cli/sample/write_sample.py; recorded of nobody",
        "notes": ["usage is estimated from characters"],
        "system": SYSTEM,
        "tools": tools,
        "messages": talk.messages,
        "timestamps": talk.timestamps,
        "usage": talk.usage,
    }


def _tool(name: str, description: str, properties: dict[str, str], required: list[str]) -> dict[str, Any]:
    schema = {key: {"type": kind} for key, kind in properties.items()}
    return {
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": schema, "required": required},
    }


def rendered() -> str:
    """The file's text: one line for each message, so that a change of the story shows as one."""
    session = build()
    head = {name: value for name, value in session.items() if name not in {"messages", "timestamps", "usage"}}
    lists = [
        f' "{name}": [\n  ' + ",\n  ".join(map(_line, session[name])) + "\n ]"
        for name in ("messages", "timestamps", "usage")
    ]
    opening = [f" {_line(name)}: {_line(value)}" for name, value in head.items()]
    return "{\n" + ",\n".join([*opening, *lists]) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    SESSION.write_text(rendered(), encoding="utf-8")
