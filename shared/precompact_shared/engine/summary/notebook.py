"""The facts being gathered: opened with the previous generation's, closed into the next one's.

Every list keeps its newest items within a bound and moves what is mentioned again to the end. That is what makes two
steps equal to one: an item that survives the bound over both stretches survives it in the first stretch, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TypeVar

from precompact_shared.engine.catalogue import ToolKind, Touch
from precompact_shared.engine.summary.calls import Doing
from precompact_shared.engine.summary.carried import Carried, FileNote, Request, Run, Statement
from precompact_shared.engine.summary.constraints import constraints_in
from precompact_shared.engine.summary.errors import error_of
from precompact_shared.engine.summary.plan import plan_of
from precompact_shared.engine.summary.shorten import one_line, shorten_middle, well_formed

_REQUEST_CHARACTERS = 8_000
_ANSWER_CHARACTERS = 600
_LAST_WORDS_CHARACTERS = 4_000
_EARLIER_SUMMARY_CHARACTERS = 8_000
_COMMAND_CHARACTERS = 300
_ALL_REQUESTS_CHARACTERS = 60_000
_ALL_CONSTRAINTS_CHARACTERS = 12_000
_MOST_FILES_OF_A_KIND = 400
_MOST_RUNS = 40

_T = TypeVar("_T")


class Notebook:
    """Open it with what is carried, tell it what happened in order, close it."""

    def __init__(self, carried: Carried) -> None:
        self._carried = carried
        self._first = carried.first_request
        self._requests = list(carried.requests)
        self._count = carried.request_count
        self._constraints = {_key(one.text): one for one in carried.constraints}
        self._earlier_summary = carried.earlier_summary
        self._files = {one.path: one for one in carried.files}
        self._commands = {one.what: one for one in carried.commands}
        self._failures = {(one.name, one.what): one for one in carried.failures}
        self._plan = carried.plan
        self._plan_seq = carried.plan_seq
        self._last_words = carried.last_words
        self._stop = carried.stop

    def reach(self, seq: int) -> None:
        """The entry is read; the newest turn extends to it."""
        self._stop = seq + 1
        if self._requests:
            self._requests[-1] = replace(self._requests[-1], end=seq)

    def open_request(self, seq: int, words: str) -> None:
        """The user asked for something."""
        text = shorten_middle(words, _REQUEST_CHARACTERS)
        self._requests.append(Request(seq, seq, text, answer="", answered=False))
        self._count += 1
        self._first = self._first or Statement(seq, text)

    def keep_constraints(self, seq: int, text: str) -> None:
        """What the user said that stays true; said again it counts as new."""
        for sentence in constraints_in(text):
            _renew(self._constraints, _key(sentence), Statement(seq, sentence))

    def keep_earlier_summary(self, seq: int, text: str) -> None:
        """The history itself holds a summary of what came before it."""
        self._earlier_summary = Statement(seq, shorten_middle(text, _EARLIER_SUMMARY_CHARACTERS))

    def keep_last_words(self, seq: int, text: str) -> None:
        """The assistant said something."""
        self._last_words = Statement(seq, shorten_middle(text.strip(), _LAST_WORDS_CHARACTERS))

    def answer(self, text: str) -> None:
        """The assistant spoke without calling a tool: an answer, unless it goes on working."""
        if self._requests:
            short = one_line(text, _ANSWER_CHARACTERS)
            self._requests[-1] = replace(self._requests[-1], answer=short, answered=True)

    def work_on(self) -> None:
        """The assistant goes on working: what it said before was no final answer."""
        if self._requests:
            self._requests[-1] = replace(self._requests[-1], answered=False)

    def keep_doing(self, seq: int, doing: Doing, output: str) -> None:
        """A call was made and came back with this output."""
        error = "" if doing.result is None else error_of(doing.tool, doing.command, doing.result, output)
        self._keep_run(seq, doing, error)
        if doing.tool.kind is ToolKind.PLAN and (plan := plan_of(doing.arguments)):
            self._plan, self._plan_seq = plan, seq
        if not (doing.result is not None and doing.result.is_error):
            for touched in doing.files:
                self._keep_file(seq, well_formed(touched.path), touched.touch)

    def _keep_file(self, seq: int, path: str, touch: Touch) -> None:
        before = self._files.get(path)
        modified = Touch.MODIFIED in {touch, before.touch if before else touch}
        _renew(self._files, path, FileNote(path, Touch.MODIFIED if modified else Touch.READ, seq))

    def _keep_run(self, seq: int, doing: Doing, error: str) -> None:
        what = one_line(well_formed(_object_of(doing)), _COMMAND_CHARACTERS)
        run = Run(seq, doing.name, what, error)
        if doing.command:
            _renew(self._commands, what, run)
        self._failures.pop((doing.name, what), None)
        if error:
            self._failures[doing.name, what] = run

    def close(self) -> Carried:
        """What to carry on, every list within its bound."""
        files = self._files.values()
        return Carried(
            start=self._carried.start,
            stop=self._stop,
            first_request=self._first,
            requests=_newest(self._requests, _ALL_REQUESTS_CHARACTERS, lambda one: len(one.text)),
            request_count=self._count,
            constraints=_newest(
                self._constraints.values(), _ALL_CONSTRAINTS_CHARACTERS, lambda one: len(one.text)
            ),
            earlier_summary=self._earlier_summary,
            files=tuple(_bounded_files(files)),
            commands=_newest(self._commands.values(), _MOST_RUNS, _one),
            failures=_newest(self._failures.values(), _MOST_RUNS, _one),
            plan=self._plan,
            plan_seq=self._plan_seq,
            last_words=self._last_words,
        )


def _object_of(doing: Doing) -> str:
    """What a call was about: its command, its file, or the first short text among its arguments."""
    if doing.command:
        return doing.command
    if doing.files:
        return doing.files[0].path
    texts = (value for value in doing.arguments.values() if isinstance(value, str) and value.strip())
    return next(texts, "")


def _bounded_files(files: Iterable[FileNote]) -> list[FileNote]:
    """Files by last touch; modified and read ones have a bound each, so that reading never displaces a change."""
    listed = list(files)
    kept: set[str] = set()
    for touch in Touch:
        of_kind = [one for one in listed if one.touch is touch]
        kept.update(one.path for one in _newest(of_kind, _MOST_FILES_OF_A_KIND, _one))
    return [one for one in listed if one.path in kept]


def _newest(items: Iterable[_T], bound: int, size: Callable[[_T], int]) -> tuple[_T, ...]:
    """The newest items whose sizes stay within the bound together, oldest first; the newest one in any case."""
    listed = list(items)
    total = 0
    for index in range(len(listed) - 1, -1, -1):
        total += size(listed[index])
        if total > bound and index < len(listed) - 1:
            return tuple(listed[index + 1 :])
    return tuple(listed)


def _one(_: object) -> int:
    return 1


def _key(sentence: str) -> str:
    return " ".join(sentence.casefold().split())


_K = TypeVar("_K", bound=Hashable)


def _renew(known: dict[_K, _T], key: _K, value: _T) -> None:
    known.pop(key, None)
    known[key] = value
