"""An exported session of OpenCode put back into each of the stores it may come from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

Export = dict[str, Any]

TABLES_1 = (
    "CREATE TABLE session (id text PRIMARY KEY, parent_id text, title text, time_updated integer, revert text)",
    "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text)",
    "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text)",
)
TABLES_2 = (
    "CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, title text, time_updated integer, revert text)",
    "CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, data text)",
)


def numbered(export: Export) -> Export:
    """The export with ids of its own in the order of its messages; those of the sample are masked in part."""
    session = export["info"]["id"]
    messages = []
    for place, told in enumerate(export["messages"]):
        name = f"msg_{session}_{place:06d}"
        parts = [
            {**part, "id": f"prt_{session}_{place:06d}_{number:04d}", "messageID": name}
            for number, part in enumerate(told["parts"])
        ]
        messages.append({"info": {**told["info"], "id": name}, "parts": parts})
    return {"info": export["info"], "messages": messages}


def write_database(path: Path, exports: Sequence[Export]) -> Path:
    """As version 1 keeps them."""
    with closing(sqlite3.connect(path)) as database, database:
        for table in TABLES_1:
            database.execute(table)
        for export in exports:
            _session(database, "session", export["info"])
            for told in export["messages"]:
                info = told["info"]
                row = (info["id"], export["info"]["id"], info["time"]["created"], _without(info, "id"))
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
                for part in told["parts"]:
                    kept = (part["id"], info["id"], export["info"]["id"], _without(part, "id", "messageID"))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", kept)
    return path


def write_database_2(path: Path, exports: Sequence[Export]) -> Path:
    """As version 2 keeps them."""
    with closing(sqlite3.connect(path)) as database, database:
        for table in TABLES_2:
            database.execute(table)
        for export in exports:
            add_rows_2(database, export)
    return path


def add_rows_2(database: sqlite3.Connection, export: Export) -> None:
    """One session of version 2."""
    _session(database, "session_v2", export["info"])
    for number, told in enumerate(export["messages"]):
        kind, data = _row_2(told)
        row = (told["info"]["id"], export["info"]["id"], kind, number, json.dumps(data))
        database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)


def write_folder(root: Path, exports: Sequence[Export]) -> Path:
    """As versions before 1.2 kept them."""
    for name in ("session", "message", "part"):
        (root / name).mkdir(parents=True)
    for export in exports:
        name = export["info"]["id"]
        _write(root / "session" / "project" / f"{name}.json", export["info"])
        for told in export["messages"]:
            _write(root / "message" / name / f"{told['info']['id']}.json", told["info"])
            for part in told["parts"]:
                _write(root / "part" / told["info"]["id"] / f"{part['id']}.json", part)
    return root


def _session(database: sqlite3.Connection, table: str, info: dict[str, Any]) -> None:
    revert = json.dumps(info["revert"]) if "revert" in info else None
    row = (info["id"], info.get("parentID"), info.get("title"), info["time"]["updated"], revert)
    database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", row)  # noqa: S608


def _row_2(told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    info, parts = told["info"], told["parts"]
    if info["role"] == "assistant":
        content = [_part_2(one) for one in parts if one["type"] in {"text", "tool"}]
        model = {"id": info["modelID"], "providerID": info["providerID"]}
        return "assistant", {
            "content": content,
            "model": model,
            "tokens": info["tokens"],
            "time": info["time"],
        }
    tasks = [one for one in parts if one["type"] == "subtask"]
    text = f"[subtask] {tasks[0]['command']}" if tasks else "\n".join(one["text"] for one in parts)
    return ("synthetic" if tasks or parts[0].get("synthetic") else "user"), {
        "text": text,
        "time": info["time"],
    }


def _part_2(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    state = part["state"]
    told: dict[str, Any] = {"status": state["status"], "input": state["input"]}
    if "error" in state:
        told["error"] = {"type": "unknown", "message": state["error"]}
    if "output" in state:
        told["content"] = [{"type": "text", "text": state["output"]}]
    pruned = state["time"].get("compacted")
    return {
        "type": "tool",
        "id": part["callID"],
        "name": part["tool"],
        "state": told,
        "time": {"pruned": pruned},
    }


def _without(value: dict[str, Any], *keys: str) -> str:
    return json.dumps({key: one for key, one in value.items() if key not in keys})


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
