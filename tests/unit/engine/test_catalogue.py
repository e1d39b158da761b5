"""What a call did is told from its tool's name and its arguments."""

from __future__ import annotations

import json

import pytest

from precompact_shared.engine.catalogue import (
    SHIPPED,
    FileTouch,
    Tool,
    ToolKind,
    Touch,
    arguments_of,
    command_of,
    files_of,
)
from precompact_shared.engine.types import Call

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: docs/b c.md\n+z\n*** End Patch"


def touched(name: str, arguments: object) -> list[tuple[str, str]]:
    """What a call of this tool did to which files, and how."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    tool = SHIPPED.find(name)
    return [(one.path, one.touch) for one in files_of(tool, arguments_of(Call("1", "function", name, text)))]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Read", ToolKind.READ),
        ("read_file", ToolKind.READ),
        ("MultiEdit", ToolKind.WRITE),
        ("apply_patch", ToolKind.WRITE),
        ("exec_command", ToolKind.SHELL),
        ("run_shell_command", ToolKind.SHELL),
        ("TodoWrite", ToolKind.PLAN),
        ("update_plan", ToolKind.PLAN),
        ("AskUserQuestion", ToolKind.ASK),
        ("Task", ToolKind.AGENT),
        ("Skill", ToolKind.SKILL),
        ("recall", ToolKind.RECALL),
        ("mcp__files__read_file", ToolKind.READ),
        ("get_weather", ToolKind.OTHER),
        ("", ToolKind.OTHER),
    ],
)
def test_tools_of_the_known_agents_are_known(name: str, kind: ToolKind) -> None:
    """Case does not matter, an MCP prefix neither; an unknown tool is no error."""
    assert SHIPPED.find(name).kind is kind


@pytest.mark.parametrize(
    ("name", "arguments", "files"),
    [
        ("Read", {"file_path": "/a/b.py", "limit": 3}, [("/a/b.py", "read")]),
        ("read", {"filePath": "x.ts"}, [("x.ts", "read")]),
        ("edit", {"path": "x.ts", "oldText": "a"}, [("x.ts", "modified")]),
        ("str_replace_editor", {"command": "view", "path": "x.ts"}, [("x.ts", "read")]),
        ("str_replace_editor", {"command": "create", "path": "x.ts"}, [("x.ts", "modified")]),
        ("apply_patch", {"patchText": PATCH}, [("src/a.py", "modified"), ("docs/b c.md", "modified")]),
        ("apply_patch", PATCH, [("src/a.py", "modified"), ("docs/b c.md", "modified")]),
        ("Grep", {"pattern": "x", "path": "src"}, []),
        ("get_weather", {"path": "/a"}, []),
        ("Read", "not json", []),
        ("Read", "[1]", []),
        ("Read", {"file_path": None, "path": 3}, []),
        ("bash", {"command": "cd /r && sed -n '1,40p' src/a.py | head -n 5"}, [("src/a.py", "read")]),
        ("bash", {"command": "sed -i 's/a/b/' src/a.py"}, [("src/a.py", "modified")]),
        (
            "bash",
            {"command": "cat a.txt b.txt > out/c.txt 2>/dev/null"},
            [("out/c.txt", "modified"), ("a.txt", "read"), ("b.txt", "read")],
        ),
        (
            "bash",
            {"command": "cat > notes.md <<'EOF'\ncat secret/x.py\nEOF\nrm old.md"},
            [("notes.md", "modified"), ("old.md", "modified")],
        ),
        ("bash", {"command": "cat src/*.py $HOME/x.py"}, []),
        (
            "bash",
            {"command": f"apply_patch <<'E'\n{PATCH}\nE"},
            [("src/a.py", "modified"), ("docs/b c.md", "modified")],
        ),
        ("shell", {"command": ["bash", "-lc", "cat x.py"]}, [("x.py", "read")]),
        ("exec", 'await tools.exec_command({"cmd":"cat x.py && echo \\"hi\\""})', [("x.py", "read")]),
        ("bash", {"command": 7}, []),
    ],
)
def test_files_are_read_off_calls(name: str, arguments: object, files: list[tuple[str, str]]) -> None:
    """Edits, patches and plain shell commands; what only the shell could expand is left out."""
    assert touched(name, arguments) == files


def test_a_tenants_rows_go_first() -> None:
    """A pattern of one's own may overrule a shipped one."""
    own = SHIPPED.extended(
        {"Read*": Tool(ToolKind.OTHER), "fetch_doc": Tool(ToolKind.READ, path_args=("doc",))}
    )
    assert own.find("read_file").kind is ToolKind.OTHER
    assert files_of(own.find("FETCH_DOC"), {"doc": "d.md"}) == (FileTouch("d.md", Touch.READ),)
    assert SHIPPED.find("fetch_doc").kind is ToolKind.OTHER


def test_commands_are_told_for_shells_only() -> None:
    """Lists of words become one command."""
    shell = SHIPPED.find("shell")
    assert command_of(shell, {"command": ["git", "status"]}) == "git status"
    assert command_of(shell, {"command": ["bash", "-lc", "git status"]}) == "git status"
    assert command_of(SHIPPED.find("Read"), {"command": "x"}) is None
