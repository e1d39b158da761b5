"""The tools catalogue: what a tool does, told from its name, so that facts can be read off its calls.

Shipped for Claude Code, Codex, OpenCode, pi, Gemini CLI, Copilot CLI and SWE-agent; a tenant's own entries go first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from precompact_shared.engine.shell import files_of_command
from precompact_shared.engine.types import Call


class ToolKind(StrEnum):
    """What a tool is for."""

    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    SHELL = "shell"
    SKILL = "skill"
    PLAN = "plan"
    ASK = "ask"
    AGENT = "agent"
    RECALL = "recall"
    OTHER = "other"


class Touch(StrEnum):
    """What a call did to a file."""

    READ = "read"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the catalogue. The `_args` are argument names to try in order; `keep_recent` counts newest results."""

    kind: ToolKind
    path_args: tuple[str, ...] = ()
    command_args: tuple[str, ...] = ()
    refetchable: bool = False
    """Its result can be had again by calling it again."""
    protect: bool = False
    """Its results are never cleared."""
    keep_recent: int = 0


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file a call read or modified."""

    path: str
    touch: Touch


_PATHS = ("file_path", "filePath", "path", "absolute_path", "filename", "file_name", "notebook_path", "file")
_COMMANDS = ("command", "cmd", "script", "code")
_PATCHES = ("patchText", "patch", "input", "diff")
_OTHER = Tool(ToolKind.OTHER)

_READ = Tool(ToolKind.READ, path_args=_PATHS, refetchable=True)
_SEARCH = Tool(ToolKind.SEARCH, refetchable=True)
_WRITE = Tool(ToolKind.WRITE, path_args=_PATHS)
_SHELL = Tool(ToolKind.SHELL, command_args=_COMMANDS)
_PATCH = Tool(ToolKind.WRITE, path_args=_PATHS, command_args=_PATCHES)
_PLAN = Tool(ToolKind.PLAN, protect=True)
_ASK = Tool(ToolKind.ASK, protect=True)
_AGENT = Tool(ToolKind.AGENT, protect=True)
_SKILL = Tool(ToolKind.SKILL, protect=True)
_RECALL = Tool(ToolKind.RECALL, refetchable=True)

_SHIPPED: tuple[tuple[str, Tool], ...] = (
    *((name, _READ) for name in ("read", "read_file", "view", "open", "notebookread", "view_image", "cat")),
    *(
        (name, _SEARCH)
        for name in ("grep", "glob", "ls", "list", "list_directory", "find_file", "find", "search_*")
    ),
    *(
        (name, _SEARCH)
        for name in ("websearch", "web_search*", "webfetch", "web_fetch", "toolsearch", "codesearch")
    ),
    *(
        (name, _WRITE)
        for name in ("write", "write_file", "edit", "multiedit", "notebookedit", "create", "insert")
    ),
    *(
        (name, _WRITE)
        for name in ("replace", "str_replace", "create_file", "edit_file", "str_replace_*editor*")
    ),
    *((name, _PATCH) for name in ("apply_patch", "patch")),
    *(
        (name, _SHELL)
        for name in ("bash", "shell", "exec", "exec_command", "local_shell*", "run_shell_command")
    ),
    *((name, _SHELL) for name in ("execute_bash", "powershell", "container.exec", "unified_exec")),
    *(
        (name, _PLAN)
        for name in ("todowrite", "todoread", "todo_write", "update_plan", "exitplanmode", "*_plan_mode")
    ),
    *(
        (name, _PLAN)
        for name in ("taskcreate", "taskupdate", "write_todos", "update_todo_list", "enterplanmode")
    ),
    *((name, _ASK) for name in ("askuserquestion", "ask_user*", "question", "request_user_input")),
    *((name, _AGENT) for name in ("task", "agent", "spawn_agent", "wait_agent", "close_agent", "send_input")),
    *((name, _SKILL) for name in ("skill", "activate_skill", "load_skill")),
    ("recall", _RECALL),
)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Name patterns (`*` and `?`, case ignored) with what they mean; the first that matches wins."""

    rows: tuple[tuple[str, Tool], ...] = _SHIPPED

    def extended(self, rows: Mapping[str, Tool]) -> Catalogue:
        """This catalogue with further rows in front of its own."""
        return Catalogue((*((pattern.casefold(), tool) for pattern, tool in rows.items()), *self.rows))

    def find(self, name: str) -> Tool:
        """What is known of the tool; kind `other` for an unknown one. `mcp__server__read_file` is tried as `read_file`."""
        full = name.casefold()
        return self._match(full) or self._match(full.rpartition("__")[2]) or _OTHER

    def _match(self, name: str) -> Tool | None:
        return next((tool for pattern, tool in self.rows if fnmatchcase(name, pattern)), None)


SHIPPED = Catalogue()


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments as an object; raw text, broken JSON and other values become `{"input": text}`."""
    try:
        parsed = json.loads(call.arguments)
    except (ValueError, RecursionError):
        parsed = call.arguments
    return parsed if isinstance(parsed, dict) else {"input": call.arguments}


def command_of(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """The shell command a call runs, or None. Lists of words (`["bash", "-lc", "ls"]`) give their last word or all."""
    if tool.kind is not ToolKind.SHELL:
        return None
    found = next((arguments[name] for name in (*tool.command_args, "input") if arguments.get(name)), None)
    if isinstance(found, list):
        words = [word for word in found if isinstance(word, str)]
        return words[-1] if "-lc" in words or "-c" in words else " ".join(words)
    return found if isinstance(found, str) else None


def files_of(tool: Tool, arguments: Mapping[str, Any]) -> tuple[FileTouch, ...]:
    """Files a call read or modified, in order of mention, as far as its arguments tell."""
    return tuple(FileTouch(path, touch) for path, touch in _touches(tool, arguments) if path.strip())


def _touches(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Touch]]:
    if tool.kind is ToolKind.SHELL:
        for path, written in files_of_command(command_of(tool, arguments) or ""):
            yield path, Touch.MODIFIED if written else Touch.READ
        return
    if tool.kind not in {ToolKind.READ, ToolKind.WRITE}:
        return
    if _only_looks(arguments):
        touch = Touch.READ
    else:
        touch = Touch.MODIFIED if tool.kind is ToolKind.WRITE else Touch.READ
    named = next((arguments[name] for name in tool.path_args if isinstance(arguments.get(name), str)), None)
    if named is not None:
        yield named, touch
    for name in tool.command_args:
        patch = arguments.get(name)
        if isinstance(patch, str):
            yield from ((patched, Touch.MODIFIED) for patched, _ in files_of_command(patch))


def _only_looks(arguments: Mapping[str, Any]) -> bool:
    """An editor with sub-commands was asked to show a file, not to change it."""
    return arguments.get("command") == "view"
