"""The tools catalogue: what a tool does, told from its name, so that facts can be read off its calls.

Data, not code: `precompact_shared/data/tools.toml` has the rows for Claude Code, Codex, OpenCode, pi, Gemini CLI, Copilot
CLI, SWE-agent, OpenHands and common MCP servers; a tenant's own rows go in front of these.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from precompact_shared.engine.shell import files_of_command
from precompact_shared.engine.types import Call
from precompact_shared.errors import Configuration


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
    """What one row says. The `_args` are argument names to try in order."""

    kind: ToolKind
    path_args: tuple[str, ...] = ()
    command_args: tuple[str, ...] = ()
    refetchable: bool = False
    """Its result can be had again by calling it again."""
    protect: bool = False
    """Its results are never cleared."""
    keep_recent: int = 0
    """So many of its newest results are never cleared, whatever the rule of the preset says."""


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file a call read or modified."""

    path: str
    touch: Touch


_OTHER = Tool(ToolKind.OTHER)
_SEPARATORS = ("__", ".", "/", ":")
"""What agents put between the name of an MCP server or plugin and that of its tool."""
_KEYS = frozenset({"kind", "path_arg", "command_arg", "refetchable", "protect", "keep_recent"})


@dataclass(frozen=True)
class Catalogue:
    """Name patterns (`*` and `?`, case ignored) with what they mean; the first that matches wins."""

    rows: tuple[tuple[str, Tool], ...]

    def extended(self, rows: Mapping[str, Tool]) -> Catalogue:
        """This catalogue with further rows in front of its own."""
        return Catalogue((*((pattern.casefold(), tool) for pattern, tool in rows.items()), *self.rows))

    def find(self, name: str) -> Tool:
        """What is known of the tool; kind `other` for an unknown one.

        `mcp__server__read_file` and `server.read_file` are tried as `read_file` where no row has the whole name.
        """
        return self._look_up(name) or _OTHER

    def knows(self, name: str) -> bool:
        """Whether any row speaks of the tool."""
        return self._look_up(name) is not None

    def _look_up(self, name: str) -> Tool | None:
        full = name.casefold()
        short = (full.rpartition(separator)[2] for separator in _SEPARATORS if separator in full)
        return next((tool for one in (full, *short) if (tool := self._match(one)) is not None), None)

    def _match(self, name: str) -> Tool | None:
        exact = self._plain.get(name, len(self.rows))
        place = next((place for place, matches in self._patterns if place < exact and matches(name)), exact)
        return self.rows[place][1] if place < len(self.rows) else None

    @cached_property
    def _plain(self) -> dict[str, int]:
        """Place of each name without a wildcard."""
        backwards = reversed(list(enumerate(self.rows)))
        return {pattern: place for place, (pattern, _) in backwards if not _is_wild(pattern)}

    @cached_property
    def _patterns(self) -> list[tuple[int, Any]]:
        """Places and matchers of the others, in order."""
        wild = ((place, pattern) for place, (pattern, _) in enumerate(self.rows) if _is_wild(pattern))
        return [(place, re.compile(translate(pattern)).match) for place, pattern in wild]


def tool_from_json(row: Mapping[str, Any], *, where: str = "tool") -> Tool:
    """A row as tenants write it: `{kind, path_arg, command_arg, refetchable, protect, keep_recent}`, only `kind` needed.

    `path_arg` and `command_arg` are one name or a list of names. Raises `Configuration` naming the key that is wrong.
    """
    unknown = sorted(set(row) - _KEYS)
    if unknown or "kind" not in row:
        raise Configuration(f"In {where}: missing or unknown: {', '.join(unknown) or 'kind'}.")
    return Tool(
        kind=_kind(row["kind"], where),
        path_args=_names(row.get("path_arg", []), f"{where}.path_arg"),
        command_args=_names(row.get("command_arg", []), f"{where}.command_arg"),
        refetchable=_switch(row.get("refetchable", False), f"{where}.refetchable"),
        protect=_switch(row.get("protect", False), f"{where}.protect"),
        keep_recent=_count(row.get("keep_recent", 0), f"{where}.keep_recent"),
    )


def parse_catalogue(source: str) -> Catalogue:
    """A catalogue from TOML text in the form of `data/tools.toml`. Raises `Configuration` naming the key that is wrong."""
    tables = tomllib.loads(source).get("tool", [])
    return Catalogue(tuple(row for table in tables for row in _rows(table)))


@cache
def shipped_catalogue() -> Catalogue:
    """The catalogue that ships; parsed once."""
    path = files("precompact_shared").joinpath("data", "tools.toml")
    return parse_catalogue(path.read_text(encoding="utf-8"))


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[str, Tool]]:
    """The patterns of one table: a server's tools under the joined name, under their own only where it says so."""
    about = {key: value for key, value in table.items() if key in _KEYS}
    names = _names(table.get("names", []), "tool.names")
    tool = tool_from_json(about, where=f"tool {names[0] if names else ''}")
    server = table.get("server")
    for name in names:
        if server is not None:
            yield f"*{server}*?{name}".casefold(), tool
        if server is None or table.get("alone"):
            yield name.casefold(), tool


def _is_wild(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _kind(value: Any, where: str) -> ToolKind:
    try:
        return ToolKind(value)
    except ValueError:
        raise Configuration(f"{where}.kind has to be one of: {', '.join(ToolKind)}.") from None


def _names(value: Any, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise Configuration(f"{where} has to be a name or a list of names.")
    return tuple(listed)


def _switch(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise Configuration(f"{where} has to be true or false.")


def _count(value: Any, where: str) -> int:
    if type(value) is int and value >= 0:
        return value
    raise Configuration(f"{where} has to be a whole number from 0.")


SHIPPED = shipped_catalogue()


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
    for path in _named_paths(tool, arguments):
        yield path, touch
    for name in tool.command_args:
        patch = arguments.get(name)
        if isinstance(patch, str):
            yield from ((patched, Touch.MODIFIED) for patched, _ in files_of_command(patch))


def _named_paths(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    """The path, or list of paths, under the first argument that holds one."""
    for name in tool.path_args:
        value = arguments.get(name)
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and value:
            return [one for one in value if isinstance(one, str)]
    return []


def _only_looks(arguments: Mapping[str, Any]) -> bool:
    """An editor with sub-commands was asked to show a file, not to change it."""
    return arguments.get("command") == "view"
