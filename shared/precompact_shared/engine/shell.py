"""Files named by shell commands and patches, read off with a few plain patterns: enough for a list, no shell grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMAND_CHARACTERS = 4_000
"""Longer commands carry data (here-documents); their head names what they touch."""

_PATCHED = re.compile(
    r"^\*\*\* (?:Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.MULTILINE
)
_NESTED = re.compile(r"\"(?:cmd|command)\"\s*:\s*\"((?:[^\"\\]|\\.)*)\"")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n.*?(?:^\s*\1\s*$|\Z)", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"&&|\|\||[;|\n]")
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_REDIRECT = re.compile(r"(?<![0-9&<>=-])>{1,2}\s*([^\s;&|<>()\"'$]+)")

_READERS = frozenset({"cat", "head", "tail", "nl", "bat", "less", "sed"})
_WRITERS = frozenset({"touch", "rm", "tee"})


def files_of_command(command: str) -> Iterator[tuple[str, bool]]:
    """Pairs (path, written) a command or patch names, in order; paths that need the shell to expand are left out."""
    if "*** " in command and (patched := list(_patched(command))):
        yield from ((path, True) for path in patched)
        return
    text = command[:_COMMAND_CHARACTERS]
    nested = _NESTED.findall(text)
    for one in nested or [text]:
        yield from _steps(_HEREDOC.sub("", one.replace("\\n", "\n").replace('\\"', '"') if nested else one))


def _patched(text: str) -> Iterator[str]:
    for match in _PATCHED.finditer(text.replace("\\n", "\n") if "\n" not in text else text):
        yield match.group(1) or match.group(2)


def _steps(command: str) -> Iterator[tuple[str, bool]]:
    for step in _STEP.split(command):
        yield from ((path, True) for path in _REDIRECT.findall(step) if _is_path(path))
        words = ["".join(groups) for groups in _WORD.findall(_REDIRECT.sub("", step))]
        program, arguments = (words[0], words[1:]) if words else ("", [])
        writes = program in _WRITERS or (
            program == "sed" and any(word.startswith("-i") for word in arguments)
        )
        if writes or program in _READERS:
            named = [word for word in arguments if word and not word.startswith("-")]
            # The first word sed is given is its script.
            yield from ((word, writes) for word in named[program == "sed" :] if _is_path(word))


def _is_path(word: str) -> bool:
    """A word that names one file: no pattern, expansion or device."""
    if word.startswith(("/dev/", "+")) or any(mark in word for mark in "*?$`{}()<>|=\\"):
        return False
    return "/" in word or re.search(r"\.[A-Za-z][A-Za-z0-9]{0,9}$", word) is not None
