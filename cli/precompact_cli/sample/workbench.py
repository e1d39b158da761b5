"""A checkout in memory and the tools an agent uses on it; what they print is computed from the files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch


@dataclass(frozen=True)
class Failure:
    """One failing test: the line of its body that fails, what pytest says, how it ended."""

    line: str
    says: tuple[str, ...]


@dataclass
class Workbench:
    """`files` as they are, `committed` as they were at the last commit."""

    files: dict[str, str]
    committed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.committed = dict(self.files)

    # ---------------------------------------------------------------------------------------------------- reading
    def read(self, path: str, start: int = 1, count: int = 2_000) -> str:
        """Numbered lines."""
        lines = self.files[path].splitlines()[start - 1 : start - 1 + count]
        return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start))

    def listing(self, folder: str) -> str:
        """The entries of a folder with sizes."""
        sizes: dict[str, int] = {}
        for path, text in self.files.items():
            if path.startswith(folder):
                name, _, below = path[len(folder) :].partition("/")
                entry = f"{name}/" if below else name
                sizes[entry] = sizes.get(entry, 0) + len(text)
        return "\n".join(
            f"{'d' if name.endswith('/') else '-'}  {size:8}  {name}" for name, size in sorted(sizes.items())
        )

    def glob(self, pattern: str) -> str:
        """Paths that match."""
        return "\n".join(sorted(path for path in self.files if fnmatch(path, pattern)))

    def grep(self, pattern: str, under: str = "", context: int = 0) -> str:
        """Matches as `path:line:text`, with lines around them if asked."""
        found: list[str] = []
        for path, text in sorted(self.files.items()):
            if path.startswith(under):
                found += _matches(path, text.splitlines(), re.compile(pattern), context)
        return "\n".join(found) or "No matches found"

    # --------------------------------------------------------------------------------------------------- changing
    def write(self, path: str, text: str) -> str:
        """A whole file."""
        verb = "updated" if path in self.files else "created"
        self.files[path] = text
        return f"File {verb}: {path} ({len(text.splitlines())} lines)"

    def edit(self, path: str, old: str, new: str) -> str:
        """One passage, which must occur once; the answer shows it in its place."""
        before = self.files[path]
        if before.count(old) != 1:
            raise ValueError(f"{path}: the passage occurs {before.count(old)} times")
        self.files[path] = before.replace(old, new)
        first = before[: before.index(old)].count("\n") + 1
        return f"Edited {path}. The passage now reads:\n{self.read(path, max(1, first - 3), new.count(chr(10)) + 8)}"

    # -------------------------------------------------------------------------------------------------------- git
    def changed(self) -> list[str]:
        """Paths that differ from the last commit."""
        paths = self.files.keys() | self.committed.keys()
        return sorted(path for path in paths if self.files.get(path) != self.committed.get(path))

    def diff(self, *under: str) -> str:
        """A unified diff against the last commit."""
        return "".join(_diff_of(path, self.committed, self.files) for path in self._changed_under(under))

    def diff_stat(self, *under: str) -> str:
        """Lines added and removed, by file."""
        rows = [
            (path, *_counts(self.committed.get(path, ""), self.files[path]))
            for path in self._changed_under(under)
        ]
        lines = [
            f" {path:<52} | {plus + minus:>4} {'+' * min(plus, 24)}{'-' * min(minus, 12)}"
            for path, plus, minus in rows
        ]
        plus_all, minus_all = sum(row[1] for row in rows), sum(row[2] for row in rows)
        total = f" {len(rows)} files changed, {plus_all} insertions(+), {minus_all} deletions(-)"
        return "\n".join([*lines, total]) if rows else ""

    def status(self) -> str:
        """Short status."""
        return "\n".join(f"{' M' if path in self.committed else '??'} {path}" for path in self.changed())

    def commit(self) -> None:
        """Everything is committed."""
        self.committed = dict(self.files)

    def _changed_under(self, under: Iterable[str]) -> list[str]:
        wanted = tuple(under) or ("",)
        return [path for path in self.changed() if path.startswith(wanted)]

    # ------------------------------------------------------------------------------------------------------ tests
    def tests(
        self, under: str = "tests/", failing: Mapping[str, Failure] | None = None, *, took_s: float = 8.0
    ) -> str:
        """What pytest prints for the tests below `under`; `failing` by node id."""
        failing = failing or {}
        nodes = self.nodes(under)
        lines = [
            f"{node} {'FAILED' if node in failing else 'PASSED'} [{100 * number // len(nodes):3}%]"
            for number, node in enumerate(nodes, 1)
        ]
        broken = [node for node in nodes if node in failing]
        if broken:
            lines += ["", "=" * 35 + " FAILURES " + "=" * 35]
            lines += [self._failure(node, failing[node]) for node in broken]
            lines += ["=" * 27 + " short test summary info " + "=" * 27]
            lines += [f"FAILED {node} - {failing[node].says[0]}" for node in broken]
        passed = len(nodes) - len(broken)
        counts = f"{len(broken)} failed, {passed} passed" if broken else f"{passed} passed"
        return "\n".join([*lines, f"{'=' * 24} {counts} in {took_s:.2f}s {'=' * 24}"])

    def nodes(self, under: str = "tests/") -> list[str]:
        """The tests below `under`."""
        return [
            f"{path}::{name}"
            for path, text in sorted(self.files.items())
            if path.startswith(under) and "/test_" in path
            for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
        ]

    def _failure(self, node: str, failure: Failure) -> str:
        path, _, name = node.partition("::")
        lines = self.files[path].splitlines()
        start = next(number for number, line in enumerate(lines) if f"def {name}(" in line)
        shown = [f"{'_' * 20} {name} {'_' * 20}", ""]
        for number in range(start, len(lines)):
            here = lines[number].strip() == failure.line
            shown.append(f"{'>' if here else ' '}   {lines[number]}")
            if here:
                shown += [f"E       {said}" for said in failure.says]
                return "\n".join([*shown, "", f"{path}:{number + 1}: {failure.says[0].partition(':')[0]}"])
        raise ValueError(f"{node} has no line {failure.line!r}")


def _matches(path: str, lines: list[str], pattern: re.Pattern[str], context: int) -> list[str]:
    hits = [number for number, line in enumerate(lines) if pattern.search(line)]
    if not context:
        return [f"{path}:{number + 1}:{lines[number]}" for number in hits]
    found: list[str] = []
    for hit in hits:
        around = range(max(0, hit - context), min(len(lines), hit + context + 1))
        found += [_located(path, number, lines[number], ":" if number == hit else "-") for number in around]
        found.append("--")
    return found


def _located(path: str, number: int, line: str, mark: str) -> str:
    return f"{path}{mark}{number + 1}{mark}{line}"


def _diff_of(path: str, old: Mapping[str, str], new: Mapping[str, str]) -> str:
    before, after = old.get(path, "").splitlines(), new.get(path, "").splitlines()
    source = f"a/{path}" if path in old else "/dev/null"
    body = difflib.unified_diff(before, after, source, f"b/{path}", lineterm="", n=3)
    return f"diff --git a/{path} b/{path}\n" + "\n".join(body) + "\n"


def _counts(before: str, after: str) -> tuple[int, int]:
    marks = [line[0] for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    return marks.count("+"), marks.count("-")
