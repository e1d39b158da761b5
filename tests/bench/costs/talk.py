"""Sessions to play: a coding agent's, of so many model calls, from a seed; our own words, no two results alike."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]

MODULES = ("loader", "parser", "queue", "ledger", "schema", "router", "session", "export", "retry", "clock")
PACKAGES = ("billing", "imports", "search", "accounts", "reports")
VERBS = ("read", "write", "merge", "open", "check", "plan", "split", "store", "close", "count")
NOUNS = ("row", "batch", "column", "record", "header", "window", "token", "page", "offset", "total")
TYPES = ("int", "str", "bytes", "float | None", "list[str]", "dict[str, int]")
ERRORS = ("KeyError: 'id'", "TimeoutError", "ValueError: bad header", "AssertionError: 41 != 42")
REQUESTS = (
    "The {noun} counts in src/{package}/{module}.py are off by one after a restart. Find out why and mend it.",
    "Please make {verb}_{noun} in src/{package}/{module}.py work for empty files too. Do not change its signature.",
    "The job dies with {error} once a day. It must never lose a {noun}. Where does that come from?",
    "Add a test for {verb}_{noun}; keep it below 40 lines, and always use the fixtures we have.",
    "Now the same in src/{package}/{module}.py. Only touch what has to change.",
)
PLANS = (
    "First I look at where {noun}s are made; {verb}_{noun} is the likely place.",
    "The failure is in {verb}_{noun}: it trusts the {noun} of the call before.",
    "That explains it. Next I check who calls {verb}_{noun} and with what {noun}.",
    "The tests still need the old {noun}; I run them before I change anything.",
    "{verb}_{noun} looks right, so it has to be the {noun} that comes in.",
)
CONCLUSION = (
    "Done: {verb}_{noun} in src/{package}/{module}.py now keeps the {noun} it was given, and a test holds it to "
    "that. What is still open: the old {noun}s on disk, which nobody has counted yet."
)
CALLS_BETWEEN_REQUESTS = (6, 11)
RESULT_CHARACTERS = {"Read": (3_000, 11_000), "Grep": (800, 5_000), "Bash": (600, 9_000), "Edit": (80, 400)}
WEIGHTS = {"Read": 4, "Grep": 2, "Bash": 3, "Edit": 2}
SYSTEM_LINES = 220


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: what the conversation has got since the last one, and what the model says now."""

    news: tuple[Message, ...]
    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """A session: what stands in front of every request, and its calls in order."""

    system: str
    tools: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]


def make_talk(seed: int, calls: int) -> Talk:
    """The same talk for the same seed."""
    return _Writer(random.Random(seed)).talk(calls)


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._number = 0

    def talk(self, calls: int) -> Talk:
        steps: list[Step] = []
        news: tuple[Message, ...] = (_user(self._words(REQUESTS)),)
        left = self._rng.randint(*CALLS_BETWEEN_REQUESTS)
        for _ in range(calls):
            left -= 1
            step = self._step(news) if left else Step(news, self._words((CONCLUSION,)), ())
            steps.append(step)
            if left:
                news = self._answered(step)
            else:
                news = (_assistant(step.text, [], self._number), _user(self._words(REQUESTS)))
                left = self._rng.randint(*CALLS_BETWEEN_REQUESTS)
        return Talk(self._system(), tuple(map(_tool, WEIGHTS)), tuple(steps))

    def _step(self, news: tuple[Message, ...]) -> Step:
        names = self._rng.choices([*WEIGHTS], [*WEIGHTS.values()], k=self._rng.choice((1, 1, 1, 2)))
        return Step(news, self._words(PLANS), tuple((name, self._input(name)) for name in names))

    def _answered(self, step: Step) -> tuple[Message, ...]:
        """The assistant's message as it comes back to the model, and the results of its calls."""
        said = _assistant(step.text, list(step.calls), self._number)
        results = [
            {"type": "tool_result", "tool_use_id": part["id"], "content": self._result(part["name"])}
            for part in said["content"]
            if part["type"] == "tool_use"
        ]
        self._number += len(results)
        return said, {"role": "user", "content": results}

    def _input(self, name: str) -> dict[str, Any]:
        path = self._words(("src/{package}/{module}.py", "tests/{package}/test_{module}.py"))
        match name:
            case "Read":
                return {"file_path": path}
            case "Grep":
                return {"pattern": self._words(("{verb}_{noun}", "{noun}s?\\b")), "path": "src"}
            case "Bash":
                return {"command": f"python -m pytest {path} -q"}
            case _:
                return {"file_path": path, "old_string": self._code(), "new_string": self._code()}

    def _result(self, name: str) -> str:
        lines, left = [f"({self._rng.randrange(10**9)})"], self._rng.randint(*RESULT_CHARACTERS[name])
        while left > 0:
            lines.append(self._line(name))
            left -= len(lines[-1]) + 1
        return "\n".join(lines)

    def _line(self, name: str) -> str:
        if name == "Grep":
            return self._words("src/{package}/{module}.py:") + f"{self._rng.randint(1, 900)}: {self._code()}"
        if name == "Bash" and self._rng.random() < 0.5:
            outcome = self._rng.choice(("PASSED", "PASSED", "PASSED", f"FAILED {self._rng.choice(ERRORS)}"))
            return self._words(("tests/{package}/test_{module}.py::test_{verb}_{noun} ",)) + outcome
        return f"{self._rng.randint(1, 900):4d}  {self._code()}"

    def _code(self) -> str:
        return self._words(
            (
                "def {verb}_{noun}({noun}: {type}) -> {type}:",
                "    {noun}s = [{verb}_{noun}(one) for one in {noun}s if one.{noun} is not None]",
                "    return self._{noun}s.get({noun}, {number})  # {noun} of the {noun} before",
                "        raise ValueError(f'no {noun} for {noun} in {module}')",
                '    """{verb} the {noun} of each {noun}, at most {number} at a time."""',
            )
        )

    def _words(self, forms: tuple[str, ...] | str) -> str:
        form = forms if isinstance(forms, str) else self._rng.choice(forms)
        pools = {
            "{module}": MODULES,
            "{package}": PACKAGES,
            "{verb}": VERBS,
            "{noun}": NOUNS,
            "{type}": TYPES,
            "{error}": ERRORS,
        }
        for mark, pool in pools.items():
            while mark in form:
                form = form.replace(mark, self._rng.choice(pool), 1)
        return form.replace("{number}", str(self._rng.randint(2, 999)))

    def _system(self) -> str:
        rules = (
            self._words(
                "Rule {number}: before you {verb} a {noun}, {verb} its {noun}; say which {noun} it was."
            )
            for _ in range(SYSTEM_LINES)
        )
        return "\n".join(("You are an agent that works on the code of a company.", *rules))


def _tool(name: str) -> dict[str, Any]:
    fields = {
        field: {"type": "string", "description": f"What {name} takes as {field}. " * 12}
        for field in FIELDS[name]
    }
    schema = {"type": "object", "properties": fields, "required": [*FIELDS[name]]}
    return {"name": name, "description": f"{name} works in the checkout. " * 40, "input_schema": schema}


FIELDS = {
    "Read": ("file_path",),
    "Grep": ("pattern", "path"),
    "Bash": ("command",),
    "Edit": ("file_path", "old_string", "new_string"),
}


def _user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _assistant(text: str, calls: list[tuple[str, dict[str, Any]]], number: int) -> Message:
    uses = [
        {"type": "tool_use", "id": f"toolu_{number + at:012d}", "name": name, "input": values}
        for at, (name, values) in enumerate(calls)
    ]
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *uses]}
