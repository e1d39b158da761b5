"""OpenCode's databases and its older folder tell the same as the export of a session."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from precompact_cli.exits import InputRefused
from precompact_cli.logs.events import Happened
from precompact_cli.logs.opening import read_log
from precompact_cli.logs.session import Session
from tests.support.recordings import Log, logs, needs_recordings
from tests.unit.cli.logs.opencode_stores import (
    TABLES_2,
    Export,
    add_rows_2,
    numbered,
    write_database,
    write_database_2,
    write_folder,
)
from tests.unit.cli.logs.reading import read, texts

Write = Callable[[Path, Sequence[Export]], Path]
STORES = pytest.mark.parametrize("write", [write_database, write_database_2, write_folder])


def session(name: str, *messages: dict[str, Any], updated: int = 1, **info: Any) -> Export:
    """An export with ids."""
    about = {"id": name, "title": f"about {name}", "time": {"updated": updated}, **info}
    dated = [
        {**one, "info": {**one["info"], "time": {"created": place}}} for place, one in enumerate(messages, 1)
    ]
    return numbered({"info": about, "messages": dated})


def user(text: str) -> dict[str, Any]:
    """What the user said."""
    return {"info": {"role": "user"}, "parts": [{"type": "text", "text": text}]}


def reply(text: str, size: int = 100) -> dict[str, Any]:
    """What the model said."""
    tokens = {"input": size, "output": 3, "reasoning": 1, "cache": {"read": 0, "write": 0}}
    info = {"role": "assistant", "modelID": "m", "providerID": "p", "tokens": tokens}
    return {"info": info, "parts": [{"type": "text", "text": text}]}


def opened(path: Path, name: str | None = None) -> Session:
    """The session that is read."""
    found = read_log(path, name)
    assert found is not None
    return found


def told(found: Session) -> tuple[Any, ...]:
    """What has to be the same wherever a session lies."""
    return (
        found.tool,
        found.name,
        found.model,
        list(found.messages),
        list(found.stamps),
        found.calls,
        found.boundaries,
        found.counts,
        found.damaged,
    )


@pytest.mark.recordings
@needs_recordings()
@STORES
@pytest.mark.parametrize("log", [log for log in logs() if log.tool == "opencode"], ids=lambda log: log.name)
def test_a_store_tells_the_same_as_the_export(write: Write, log: Log, tmp_path: Path) -> None:
    """Messages, times, calls with their sizes, what was cleared."""
    export = json.loads(log.raw())
    kept = write(tmp_path / "store", [numbered(export)])
    assert told(opened(kept)) == told(read(log.raw()))


@STORES
def test_the_newest_session_is_read_unless_another_is_named(write: Write, tmp_path: Path) -> None:
    """Sub-agents have newer times than the session they work for; they are its sidechains."""
    kept = write(
        tmp_path / "store",
        [
            session("ses_1", user("old"), updated=5),
            session("ses_2", user("new"), reply("yes"), updated=7),
            session("ses_3", user("task"), reply("done", 9), updated=9, parentID="ses_2"),
            session("ses_4", user("deeper"), updated=8, parentID="ses_3"),
        ],
    )
    newest = opened(kept)
    assert (newest.name, texts(newest)) == ("about ses_2", ["user:new", "assistant:yes"])
    assert [texts(one) for one in newest.sidechains] == [["user:task", "assistant:done"], ["user:deeper"]]
    assert [one.total_input for one in newest.sidechains[0].calls] == [9]
    assert texts(opened(kept, "ses_1")) == ["user:old"]
    assert texts(opened(kept, "ses_3")) == ["user:task", "assistant:done"]
    with pytest.raises(InputRefused, match="keeps 4, the newest are ses_3, ses_4"):
        read_log(kept, "ses_5")


@STORES
def test_what_the_user_took_back_last_is_a_branch(write: Write, tmp_path: Path) -> None:
    """OpenCode deletes it only when the next prompt comes."""
    told_so = [user("go"), reply("first"), user("more"), reply("second")]
    export = session("ses_1", *told_so)
    export["info"]["revert"] = {"messageID": export["messages"][2]["info"]["id"]}
    found = opened(write(tmp_path / "store", [export]))
    assert texts(found) == ["user:go", "assistant:first"]
    assert [(one.at, one.messages) for one in found.branches] == [(2, 2)]
    assert len(found.calls) == 1


@STORES
def test_an_empty_store_is_refused(write: Write, tmp_path: Path) -> None:
    """With what to do."""
    kept = write(tmp_path / "store", [])
    with pytest.raises(InputRefused, match="no sessions here"):
        read_log(kept)


def test_a_session_that_version_2_took_over_is_read_there(tmp_path: Path) -> None:
    """Its old rows stay behind and go no further; sessions it has not touched are read from the old tables."""
    path = write_database(
        tmp_path / "opencode.db", [session("ses_1", user("old")), session("ses_2", user("left"))]
    )
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("session_v2", "session_message"):
            database.execute(next(one for one in TABLES_2 if table in one))
        add_rows_2(database, session("ses_1", user("old"), reply("newer"), updated=3))
    assert texts(opened(path)) == ["user:old", "assistant:newer"]
    assert texts(opened(path, "ses_2")) == ["user:left"]


def test_a_database_of_version_1_is_not_read_from_its_projection(tmp_path: Path) -> None:
    """It has the newer messages' table too, with as much in it as it pleases."""
    path = write_database(tmp_path / "opencode.db", [session("ses_1", user("go"), reply("yes"))])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(next(one for one in TABLES_2 if "session_message" in one))
        database.execute(
            "INSERT INTO session_message VALUES ('m', 'ses_1', 'user', 0, '{\"text\": \"part\"}')"
        )
    assert texts(opened(path)) == ["user:go", "assistant:yes"]


def test_rows_of_version_2(tmp_path: Path) -> None:
    """Commands the user ran, skills, system updates, files, compactions, broken-off turns."""
    path = write_database_2(tmp_path / "opencode.db", [session("ses_1")])
    image = {"mime": "image/png", "data": "QUJD", "name": "a.png"}
    note = {"mime": "text/plain", "data": "QUJD", "name": "a.txt"}
    model, stamp = {"id": "gpt-5.5", "providerID": "openai"}, {"created": 5}
    running = {"type": "tool", "id": "c", "name": "read", "state": {"status": "running", "input": {"a": 1}}}
    failed = {
        "type": "tool",
        "id": "d",
        "name": "read",
        "state": {"status": "error", "input": {}, "error": {"message": "no file"}},
    }
    rows: list[tuple[str, dict[str, Any]]] = [
        ("user", {"text": "look", "files": [image, note], "time": stamp}),
        ("assistant", {"content": [{"type": "reasoning", "text": "hm"}, running, failed], "model": model}),
        ("idle", {"outcome": "interrupted"}),
        ("shell", {"command": "ls", "output": {"output": "a.py"}}),
        ("skill", {"text": "how to", "name": "s"}),
        ("system", {"text": "the date changed"}),
        ("model-switched", {"model": model}),
        ("compaction", {"status": "failed", "error": {}}),
        ("assistant", {"content": [{"type": "text", "text": "lost"}], "error": {"type": "api"}}),
        (
            "compaction",
            {
                "status": "completed",
                "summary": "the sum",
                "recent": "the end",
                "reason": "auto",
                "tokens": {"input": 70, "cache": {"read": 7}},
            },
        ),
        ("assistant", {"content": [{"type": "text", "text": "on"}], "error": {"type": "aborted"}}),
        ("idle", {"outcome": "interrupted"}),
    ]
    with closing(sqlite3.connect(path)) as database, database:
        for number, (kind, data) in enumerate(rows):
            row = (f"msg_{number:03d}", "ses_1", kind, number, json.dumps(data))
            database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)
    found = opened(path)
    first = found.messages[0]["content"]
    assert [part["type"] for part in first] == ["text", "image_url"]
    assert first[0]["text"] == "look\n[file a.txt]\nABC"
    assert first[1]["image_url"]["url"] == "data:image/png;base64,QUJD"
    assert texts(found)[1:] == [
        "assistant: read() read()",
        "tool:[running]",
        "tool:no file",
        "user:$ ls\na.py",
        "user:how to",
        "system:the date changed",
        "assistant:on",
    ]
    assert found.counts == {Happened.INTERRUPTED: 2}
    (cut,) = found.boundaries
    assert (cut.at, cut.kept_from, cut.trigger, cut.tokens_before) == (7, 7, "auto", 77)
    assert [one["content"] for one in found.after().messages] == ["the sum\nthe end", "on"]
    assert found.model == "gpt-5.5"
    assert found.skipped == {"compaction": 1, "model-switched": 1, "part reasoning": 1}


@STORES
def test_damage_is_counted_in_messages_and_costs_itself_alone(write: Write, tmp_path: Path) -> None:
    """A message that is no JSON, and where parts lie apart, a part."""
    export = session("ses_1", user("go"), reply("first"), user("more"), reply("second"))
    kept = write(tmp_path / "store", [export])
    _harm(kept, export["messages"][1]["info"]["id"], b'{"content": "\xff')
    found = opened(kept)
    assert texts(found) == ["user:go", "user:more", "assistant:second"]
    assert [(one.line, one.why) for one in found.damage] == [(2, "no UTF-8 text")]


@pytest.mark.parametrize("write", [write_database, write_folder])
def test_a_part_that_cannot_be_read_costs_itself_alone(write: Write, tmp_path: Path) -> None:
    """The message stays."""
    export = session("ses_1", user("go"), reply("first"))
    export["messages"][1]["parts"].append({"type": "text", "text": "x", "id": "prt_z"})
    kept = write(tmp_path / "store", [export])
    _harm(kept, "prt_z", b"[1")
    found = opened(kept)
    assert texts(found) == ["user:go", "assistant:first"]
    assert [(one.line, one.why) for one in found.damage] == [(2, "no JSON")]


def test_a_damaged_database_gives_what_it_can(tmp_path: Path) -> None:
    """Wherever a page of it is lost: a clear refusal or a session that says what is missing."""
    many = [message for n in range(150) for message in (user(f"q{n} " * 40), reply(f"a{n} " * 40))]
    whole = write_database(tmp_path / "whole.db", [session("ses_1", *many)]).read_bytes()
    refused = told_so = 0
    for place in range(0, len(whole), 4_096):
        broken = tmp_path / "broken.db"
        broken.write_bytes(whole[:place] + b"\xa5" * 4_096 + whole[place + 4_096 :])
        found = _tried(broken)
        refused += found is None
        told_so += found is not None and found.damaged > 0
        assert found is None or found.damaged or len(found.messages) == len(many)
    assert refused
    assert told_so


@pytest.mark.parametrize("raw", [b"SQLite format 3\0", b"SQLite format 3\0" + b"\0" * 5_000])
def test_what_only_looks_like_a_database_is_refused(raw: bytes, tmp_path: Path) -> None:
    """So is one of another program."""
    (tmp_path / "a.db").write_bytes(raw)
    with closing(sqlite3.connect(tmp_path / "b.db")) as database, database:
        database.execute("CREATE TABLE session (id text)")
    for name in ("a.db", "b.db"):
        with pytest.raises(InputRefused):
            read_log(tmp_path / name)


def test_a_database_is_only_read(tmp_path: Path) -> None:
    """What OpenCode has just written is seen, and nothing of it changes."""
    path = write_database(tmp_path / "with #%?.db", [session("ses_1", user("go"))])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        with writer:
            row = ("msg_ses_1_000009", "ses_1", 9, json.dumps(reply("late")["info"]))
            writer.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            writer.execute("INSERT INTO part VALUES (?, ?, ?, ?)", ("p9", row[0], "ses_1", _TEXT))
        assert texts(opened(path)) == ["user:go", "assistant:late"]
    before = path.read_bytes()
    assert texts(opened(path)) == ["user:go", "assistant:late"]
    assert path.read_bytes() == before


def test_a_session_of_the_folder_can_be_named_by_its_file(tmp_path: Path) -> None:
    """And the folder by the one above it."""
    root = write_folder(tmp_path / "storage", [session("ses_1", user("a")), session("ses_2", user("b"))])
    assert texts(opened(root / "session" / "project" / "ses_1.json")) == ["user:a"]
    assert texts(opened(tmp_path, "ses_2")) == ["user:b"]
    with pytest.raises(InputRefused, match="one session"):
        read_log(root / "part" / "msg_ses_1_000000" / "prt_ses_1_000000_0000.json", "ses_1")


def test_images_in_results_of_version_2_are_carried(tmp_path: Path) -> None:
    """They stand beside the result's text there."""
    url = "data:image/png;base64,aGVsbG8="
    path = write_database_2(tmp_path / "a.db", [session("ses_1", user("go"))])
    shown = [
        {"type": "text", "text": "shot"},
        {"type": "file", "mime": "image/png", "uri": url, "name": "a.png"},
    ]
    made = {"type": "tool", "id": "c", "name": "read", "state": {"status": "completed", "content": shown}}
    with closing(sqlite3.connect(path)) as database, database:
        row = ("msg_ses_1_000009", "ses_1", "assistant", 9, json.dumps({"content": [made]}))
        database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)
    found = opened(path)
    assert [one["role"] for one in found.messages] == ["user", "assistant", "tool", "user"]
    assert found.messages[2]["content"] == "shot"
    assert found.messages[3]["content"] == [{"type": "image_url", "image_url": {"url": url}}]


def test_messages_of_version_2_were_ordered_by_time_at_first(tmp_path: Path) -> None:
    """Their table had no numbers then."""
    path = write_database_2(tmp_path / "a.db", [session("ses_1", user("go"), reply("yes"), user("on"))])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE session_message RENAME COLUMN seq TO time_created")
    assert texts(opened(path)) == ["user:go", "assistant:yes", "user:on"]


_TEXT = json.dumps({"type": "text", "text": "late"})


def _tried(path: Path) -> Session | None:
    """None where the file is refused."""
    try:
        return read_log(path)
    except InputRefused:
        return None


def _harm(kept: Path, name: str, raw: bytes) -> None:
    if kept.is_dir():
        (path,) = kept.glob(f"*/*/{name}.json")
        path.write_bytes(raw)
        return
    with closing(sqlite3.connect(kept)) as database, database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in {"message", "part", "session_message"}.intersection(tables):
            database.execute(f"UPDATE {table} SET data = CAST(? AS TEXT) WHERE id = ?", (raw, name))  # noqa: S608
