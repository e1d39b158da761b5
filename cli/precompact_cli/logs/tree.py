"""Lines that name their parents: which of them lie on the way to the last one. A few dozen bytes a line."""

from __future__ import annotations

from array import array

NOWHERE = -1


class Tree:
    """Nodes are numbered in the order they were added. Parents may be missing, come later or go round in circles."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._parents = array("q")
        """Hash of each node's parent's name, 0 for none."""

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, name: str, parent: str | None) -> int:
        """The new node's number. A name used again means the newer node."""
        number = len(self._parents)
        self._numbers[hash(name)] = number
        self._parents.append(0 if parent is None else hash(parent))
        return number

    def number(self, name: str) -> int:
        """The node of that name, NOWHERE if there is none."""
        return self._numbers.get(hash(name), NOWHERE)

    def names_parent(self, node: int) -> bool:
        """Whether the node says what it follows, be that here or not."""
        return self._parents[node] != 0

    def parent(self, node: int) -> int:
        """The node's parent, NOWHERE if it has none or it is missing."""
        named = self._parents[node]
        return self._numbers.get(named, NOWHERE) if named else NOWHERE
