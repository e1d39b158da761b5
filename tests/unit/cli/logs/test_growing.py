"""Logs that are still written while they are read, and such as begin with a very large line."""

from __future__ import annotations

from pathlib import Path

from precompact_cli.logs.claude_code import ClaudeCode
from precompact_cli.logs.events import Damaged, Said
from precompact_cli.logs.lines import HEAD_BYTES
from precompact_cli.logs.opening import read_log
from precompact_cli.logs.snapshot import open_snapshot
from tests.unit.cli.logs import test_claude_code as claude
from tests.unit.cli.logs.reading import lines, read, texts


def test_what_is_appended_while_a_log_is_read_is_not_read(tmp_path: Path) -> None:
    """The second pass would know nothing of it: a sub-agent's line would be the user's."""
    path = tmp_path / "log"
    path.write_bytes(lines(claude.prompt("p", None), claude.prompt("q", "p"), claude.prompt("r", "q")))
    with open_snapshot(path) as stream:
        events = ClaudeCode().read(stream)
        first = next(events)
        with path.open("ab") as out:
            out.write(lines(claude.prompt("a sub-agent's", None, isSidechain=True)))
        said = [event for event in (first, *events) if isinstance(event, Said)]
        assert [one.message["content"] for one in said] == ["p", "q", "r"]
        assert stream.seek(0, 2) < path.stat().st_size


def test_a_last_line_that_is_half_written_is_told_as_that() -> None:
    """And what is before it is read."""
    whole = lines(claude.prompt("p", None), claude.prompt("q", "p"))
    session = read(whole[: -len(b'"}\n') - 9])
    assert texts(session) == ["user:p"]
    assert session.damage == (Damaged(2, "the file ends in the middle"),)


def test_a_log_whose_first_line_is_larger_than_a_head_is_recognised(tmp_path: Path) -> None:
    """By what comes behind: a prompt with many pictures in it is no reason to know nothing of the rest."""
    path = tmp_path / "log"
    path.write_bytes(lines(claude.prompt("p", None, "x" * (HEAD_BYTES + 9)), claude.prompt("q", "p")))
    session = read_log(path)
    assert session is not None
    assert (session.tool, len(session.messages)) == ("claude-code", 2)
