"""Which lines of a Claude Code log are live, which belong to sub-agents, and where branches leave."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.claude_context import kept_by
from precompact_cli.logs.events import Damaged
from precompact_cli.logs.lines import listed, read_objects, record, text_of
from precompact_cli.logs.tree import NOWHERE, Tree

_OTHER, _PROMPT, _RESULT, _REPLY, _BOUNDARY, _SUMMARY = range(6)
"""Kinds of lines; the branch that ends last ends in one that is not the first of these."""
_OPEN, _LIVE, _DEAD, _SIDE = range(4)


class Live:
    """What the first pass found, asked by line number. Some hundred bytes a line."""

    def __init__(self) -> None:
        self._tree = Tree()
        self._lines = array("q")
        """Line number of each node."""
        self._kinds = bytearray()
        self._states = bytearray()
        self._firsts: dict[int, int] = {}
        """Node of the first line of each reply, by the hash of its id."""
        self._first = array("q")
        """Of each node, the node of the first line of its reply; itself for other lines."""
        self._agents: dict[int, str] = {}
        self._roots: dict[int, int] = {}
        self._places: dict[int, int] = {}
        """Length of the history behind those nodes at which a branch leaves."""
        self._stamps = array("q")
        """Hash of each node's time, 0 for none."""
        self._repeats: set[int] = set()
        """Numbers of lines that are in the log once more."""
        self._kept: dict[int, tuple[str, str]] = {}
        """Of each compaction's node the first and the last line it kept."""
        self._heads: dict[int, int] = {}
        """Of the first of these the place of its message."""

    def add(self, number: int, line: dict[str, Any]) -> None:
        """One line of the log."""
        name = text_of(line.get("uuid"))
        stamp = hash(text_of(line.get("timestamp")) or 0)
        if name is None or self._has(name, line, stamp):
            self._repeats.update(() if name is None else (number,))
            return
        self._stamps.append(stamp)
        node = self._tree.add(name, text_of(line.get("parentUuid")) or text_of(line.get("logicalParentUuid")))
        self._lines.append(number)
        self._kinds.append(_kind(line))
        self._states.append(_SIDE if line.get("isSidechain") is True else _OPEN)
        reply = text_of(record(line.get("message")).get("id")) if self._kinds[node] == _REPLY else None
        self._first.append(node if reply is None else self._firsts.setdefault(hash(reply), node))
        if self._kinds[node] == _BOUNDARY and (kept := kept_by(line)) is not None:
            self._kept[node] = kept
        if self._states[node] == _SIDE and (agent := text_of(line.get("agentId"))) is not None:
            self._agents[node] = agent

    def settle(self) -> None:
        """Finds the live branch once all lines are known. A log of a sub-agent alone is its own main thread."""
        if all(state == _SIDE for state, kind in zip(self._states, self._kinds, strict=True) if kind):
            self._states = bytearray(len(self._states))
        self._mark_path()
        self._mark_compactions()
        self._mark_beside()
        for node in self._nodes(_OPEN):
            self._states[node] = _DEAD
        for node in self._nodes(_DEAD):
            self._places[self._tree.parent(self._root(node))] = 0
        self._heads = {self._tree.number(first): NOWHERE for first, _ in self._kept.values()}

    def is_repeat(self, number: int) -> bool:
        """Whether the line stands in the log already."""
        return number in self._repeats

    def is_live(self, number: int) -> bool:
        """Whether the line is part of the session as it ended; so is a line that has no place in the tree."""
        node = self._node(number)
        return node == NOWHERE or self._states[node] == _LIVE

    def thread(self, number: int) -> str:
        """The sub-agent the line belongs to, empty for none."""
        node = self._node(number)
        if node == NOWHERE or self._states[node] != _SIDE:
            return ""
        return self._agents.get(node) or f"line {self._lines[self._root(node)]}"

    def branch(self, number: int) -> int:
        """The first node of the branch that a dead line belongs to."""
        return self._root(self._node(number))

    def place(self, root: int) -> int:
        """Where in the history the branch left."""
        return self._places.get(self._tree.parent(root), 0)

    def note_place(self, number: int, length: int, place: int) -> None:
        """The history was so long behind this line, which is part of the message at `place`."""
        node = self._node(number)
        if node != NOWHERE and node in self._places:
            self._places[node] = length
        if node != NOWHERE and node in self._heads:
            self._heads[node] = place

    def kept_from(self, number: int) -> int | None:
        """The place from which the compaction of this line kept what was said; None if it did not."""
        kept = self._kept.get(self._node(number))
        place = NOWHERE if kept is None else self._heads.get(self._tree.number(kept[0]), NOWHERE)
        return None if place == NOWHERE else place

    def _has(self, name: str, line: dict[str, Any], stamp: int) -> bool:
        """Whether a line of this name, time and kind is there; a name alone may be a mask."""
        node = self._tree.number(name)
        same = node != NOWHERE and self._stamps[node] == stamp != hash(0) and self._kinds[node] == _kind(line)
        return same and (self._states[node] == _SIDE) == (line.get("isSidechain") is True)

    def _node(self, number: int) -> int:
        node = bisect_left(self._lines, number)
        return node if node < len(self._lines) and self._lines[node] == number else NOWHERE

    def _nodes(self, state: int) -> Iterator[int]:
        return (node for node in range(len(self._tree)) if self._states[node] == state)

    def _mark_path(self) -> None:
        """From the last message back to the first, over gaps in the chain."""
        node = len(self._tree) - 1
        while node >= 0 and (self._states[node] == _SIDE or not self._kinds[node]):
            node -= 1
        while node != NOWHERE and self._states[node] == _OPEN:
            self._states[node] = _LIVE
            above = self._tree.parent(node)
            if above == NOWHERE or self._states[above] == _SIDE:
                above = self._line_before(node)
            node = above

    def _line_before(self, node: int) -> int:
        """What a line follows whose parent is missing; nothing if it is a prompt that says it has none."""
        if self._kinds[node] == _PROMPT and not self._tree.names_parent(node):
            return NOWHERE
        node -= 1
        while node >= 0 and self._states[node] == _SIDE:
            node -= 1
        return node

    def _mark_compactions(self) -> None:
        """Those behind which the log goes on with what they kept: their marks and summaries are beside the path."""
        for node, (_, last) in self._kept.items():
            tail = self._tree.number(last)
            if self._states[node] == _OPEN and tail != NOWHERE and self._states[tail] == _LIVE:
                self._states[node] = _LIVE
        below = {node for node in self._kept if self._states[node] == _LIVE}
        for node in self._nodes(_OPEN) if below else ():
            if self._kinds[node] in {_OTHER, _SUMMARY} and self._tree.parent(node) in below:
                self._states[node] = _LIVE
                below.add(node)

    def _mark_beside(self) -> None:
        """The other lines of live replies, and the results of calls that have none on the path: calls made at once."""
        live = {self._first[node] for node in self._nodes(_LIVE) if self._kinds[node] == _REPLY}
        for node in self._nodes(_OPEN):
            if self._kinds[node] == _REPLY and self._first[node] in live:
                self._states[node] = _LIVE
        answered = {self._tree.parent(node) for node in self._nodes(_LIVE) if self._kinds[node] == _RESULT}
        for node in self._nodes(_OPEN):
            call = self._tree.parent(node) if self._kinds[node] == _RESULT else NOWHERE
            if call != NOWHERE and self._states[call] == _LIVE and call not in answered:
                self._states[node] = _LIVE

    def _root(self, node: int) -> int:
        """The first line of the branch or sidechain that a node belongs to."""
        state, way, top = self._states[node], set[int](), node
        while top not in self._roots and top not in way:
            way.add(top)
            above = self._tree.parent(top)
            if above != NOWHERE and self._states[above] == state:
                top = above
        root = self._roots.get(top, top)
        self._roots.update(dict.fromkeys(way, root))
        return root


def index_lines(stream: BinaryIO) -> Live:
    """Reads the whole log for its tree alone."""
    live = Live()
    for found in read_objects(stream):
        if not isinstance(found, Damaged):
            live.add(*found)
    live.settle()
    return live


def _kind(line: dict[str, Any]) -> int:
    kind = line.get("type")
    if kind == "assistant":
        return _REPLY
    if kind == "system" and line.get("subtype") == "compact_boundary":
        return _BOUNDARY
    if kind != "user":
        return _OTHER
    if line.get("isCompactSummary") is True:
        return _SUMMARY
    content = listed(record(line.get("message")).get("content"))
    return _RESULT if any(record(one).get("type") == "tool_result" for one in content) else _PROMPT
