"""Summaries by extraction: what was said is quoted under the headings that were asked for. The same input, the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ASKED = re.compile(r"summar|compact|hand.?(over|off)|snapshot|checkpoint|condense", re.IGNORECASE)
_HASHES = re.compile(r"^#{1,6} \S")
_TAG = re.compile(r"^<([a-z][\w-]*)>$", re.IGNORECASE)
_MATERIAL = re.compile(
    r"<(transcript|conversation|history|session|facts|previous[\w-]*)\b[^>]*>\n?(.*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
"""What an instruction encloses: the conversation itself, told as text."""
_SPEAKER = re.compile(
    r"^(?:\[[^\]\n]*\]\s*)?\W{0,3}(user|human|assistant|tool result|tool|system)\b(?=\W)", re.IGNORECASE
)
_REPEATED = re.compile(r"\bsame (headings|form|sections)\b|\bagain\b", re.IGNORECASE)
_LINE_CHARS = 200
_LINES_A_SECTION = 12

_PATH = re.compile(
    r"(?:[\w.-]+/)+[\w.-]+\.\w+|\b[\w-]+\.(?:py|ts|js|go|rs|md|toml|json|yaml|yml|txt|sh|sql|c|h)\b"
)
_FAILURE = re.compile(r"error|exception|traceback|failed|exit code|\$ \w|command", re.IGNORECASE)
_WISH = re.compile(
    r"\b(must|never|always|only|don't|do not|prefer|should|without|at most|at least)\b", re.IGNORECASE
)
_NEXT = re.compile(r"\b(next|todo|then|still|remaining|pending|open|later)\b|\?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that was asked for, what belongs under it in words, and what closes it."""

    text: str
    asks: str = ""
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One text of the conversation and whose it is."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A text taken apart: what it asks, and what it encloses as material."""

    asks: str
    material: tuple[Spoken, ...] = ()


def taken_apart(text: str) -> Told:
    """A request that tells a conversation as text has its speakers found; any other is all asking."""
    enclosed = [match[2] for match in _MATERIAL.finditer(text)]
    told = tuple(spoken for part in enclosed for spoken in _speakers(part))
    return Told(_MATERIAL.sub("", text), told)


def repeats(instruction: str) -> bool:
    """Whether a text asks for what was asked before, once more."""
    return _REPEATED.search(instruction) is not None


def asked_headings(instruction: str, *, strict: bool = False) -> list[Heading]:
    """Headings an instruction wants filled; none when it does not ask for a summary.

    `strict` takes only headings with a line in brackets under them, or a closing tag: an agent's own system
    prompt has headings too.
    """
    if not _ASKED.search(instruction):
        return []
    lines = [line.strip() for line in instruction.splitlines()]
    found = [heading for at in range(len(lines)) if (heading := _heading(lines, at, strict=strict))]
    return found if not strict or len(found) > 1 else []


def wants_summary(instruction: str) -> bool:
    """Whether a text that is short enough to be an instruction asks for a summary."""
    return len(instruction) < 40_000 and _ASKED.search(instruction) is not None


def summarise(headings: Sequence[Heading], said: Sequence[Spoken], max_chars: int) -> str:
    """A summary of at most about `max_chars` characters, every heading filled, in order."""
    wanted = headings or [
        Heading("Summary of the conversation so far:", "user requests, files, errors, next")
    ]
    share = max(80, max_chars // len(wanted) - 60)
    return "\n\n".join(_section(heading, said, share) for heading in wanted)


def _speakers(text: str) -> Iterable[Spoken]:
    role, lines = "assistant", list[str]()
    for line in text.splitlines():
        if (speaker := _SPEAKER.match(line)) is None:
            lines.append(line)
            continue
        if lines:
            yield Spoken(role, "\n".join(lines))
        role = "user" if speaker[1].lower() in {"user", "human"} else "assistant"
        lines = [line[speaker.end() :].lstrip(" :.,-]*")]
    if lines:
        yield Spoken(role, "\n".join(lines))


def _heading(lines: Sequence[str], at: int, *, strict: bool) -> Heading | None:
    line = lines[at]
    under = lines[at + 1] if at + 1 < len(lines) else ""
    bracketed = under.startswith("(") and under.endswith(")")
    asks = under.strip("()") if bracketed else ""
    if (tag := _TAG.match(line)) is not None:
        closing = f"</{tag[1]}>"
        return Heading(line, asks, closing) if closing in lines[at:] else None
    if (_HASHES.match(line) and not strict) or (bracketed and line and not line.startswith(("(", "-"))):
        return Heading(line, asks)
    return None


def _section(heading: Heading, said: Sequence[Spoken], max_chars: int) -> str:
    lines = _within(_chosen(f"{heading.text} {heading.asks}".lower(), said), max_chars)
    body = "\n".join(f"- {line}" for line in lines) or "- Nothing of note."
    return "\n".join(part for part in (heading.text, body, heading.closing) if part)


def _chosen(about: str, said: Sequence[Spoken]) -> Iterable[str]:
    asked = [spoken.text for spoken in said if spoken.role == "user"]
    if re.search(r"file|artifact|path", about):
        return _ordered(match for spoken in said for match in _PATH.findall(spoken.text))
    if re.search(r"error|command|problem|failure|critical", about):
        return _lines((spoken.text for spoken in said), _FAILURE)
    if re.search(r"constraint|requirement|preference|rule", about):
        return _lines(asked, _WISH)
    if re.search(r"goal|request|intent|objective|user message", about):
        return _ordered(text.strip().split("\n")[0] for text in asked)
    if re.search(r"open|next|pending|blocked|todo", about):
        return _lines((spoken.text for spoken in reversed(said)), _NEXT)
    return _ordered(spoken.text.strip().split("\n")[0] for spoken in reversed(said) if spoken.role != "user")


def _lines(texts: Iterable[str], pattern: re.Pattern[str]) -> Iterable[str]:
    return _ordered(line.strip() for text in texts for line in text.splitlines() if pattern.search(line))


def _ordered(lines: Iterable[str]) -> list[str]:
    """Without repetitions, in the order met; headings and tags of the source are no facts."""
    kept = (line for line in lines if line and not _HASHES.match(line) and not _TAG.match(line))
    return list(dict.fromkeys(line[:_LINE_CHARS] for line in kept))


def _within(lines: Iterable[str], max_chars: int) -> list[str]:
    found: list[str] = []
    left = max_chars
    for line in lines:
        if len(found) == _LINES_A_SECTION or len(line) > left:
            break
        found.append(line)
        left -= len(line) + 3
    return found
