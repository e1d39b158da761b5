"""What a call did is told from its tool's name and its arguments."""

from __future__ import annotations

import json

import pytest

from precompact_shared.engine.catalogue import (
    SHIPPED,
    Catalogue,
    FileTouch,
    Tool,
    ToolKind,
    Touch,
    arguments_of,
    command_of,
    files_of,
    parse_catalogue,
    tool_from_json,
)
from precompact_shared.engine.types import Call
from precompact_shared.errors import Configuration
from precompact_shared.policy import Policy, parse_policy

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
        ("BashOutput", ToolKind.SHELL),
        ("write_stdin", ToolKind.SHELL),
        ("ToolSearch", ToolKind.OTHER),
        ("list_dir", ToolKind.SEARCH),
        ("google_web_search", ToolKind.SEARCH),
        ("codebase_investigator", ToolKind.AGENT),
        ("mcp__github__get_file_contents", ToolKind.READ),
        ("github_list_commits", ToolKind.SEARCH),
        ("mcp_filesystem_read_text_file", ToolKind.READ),
        ("mcp__git__git_diff_staged", ToolKind.SEARCH),
        ("fetch", ToolKind.SEARCH),
        ("puppeteer_screenshot", ToolKind.READ),
        ("mcp__playwright__browser_snapshot", ToolKind.READ),
        ("browser_click", ToolKind.READ),
        ("mcp__postgres__query", ToolKind.SEARCH),
        ("query", ToolKind.OTHER),
        ("slack_get_channel_history", ToolKind.SEARCH),
        ("slack_post_message", ToolKind.OTHER),
        ("mcp__memory__read_graph", ToolKind.RECALL),
        ("mcp__ide__getDiagnostics", ToolKind.SEARCH),
        ("functions.exec_command", ToolKind.SHELL),
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
        ("read_multiple_files", {"paths": ["a.py", "b.py", 3]}, [("a.py", "read"), ("b.py", "read")]),
        ("move_file", {"source": "a.py", "destination": "b.py"}, [("b.py", "modified")]),
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


def test_a_known_tool_of_no_special_kind_is_not_unknown() -> None:
    """What `inspect` lists as unknown is what nobody has described, not what is described as `other`."""
    assert SHIPPED.knows("think")
    assert SHIPPED.knows("mcp__slack__slack_post_message")
    assert not SHIPPED.knows("get_weather")
    assert not SHIPPED.knows("")


@pytest.mark.parametrize("name", ["TodoWrite", "AskUserQuestion", "Skill", "ToolSearch", "update_plan"])
def test_results_that_steer_the_work_are_protected(name: str) -> None:
    """Plans, answers of the user, skills, and tools that a search made callable."""
    assert SHIPPED.find(name).protect


@pytest.mark.parametrize("name", ["Read", "Grep", "WebFetch", "mcp__postgres__query", "recall"])
def test_what_can_be_had_again_is_marked(name: str) -> None:
    """Its placeholder may tell the model to call the tool again."""
    assert SHIPPED.find(name).refetchable
    assert not SHIPPED.find("Bash").refetchable


def test_the_newest_look_at_a_page_stays() -> None:
    """A browser's page is gone once it has changed."""
    assert SHIPPED.find("mcp__playwright__browser_snapshot").keep_recent == 1


def test_the_first_row_that_matches_wins_whether_name_or_pattern() -> None:
    """Rows without a wildcard are found faster, not earlier."""
    shell, read = Tool(ToolKind.SHELL), Tool(ToolKind.READ)
    assert Catalogue((("ru*", shell), ("run", read))).find("run") is shell
    assert Catalogue((("run", read), ("ru*", shell), ("run", shell))).find("run") is read


def test_a_row_of_a_tenant_says_only_what_differs() -> None:
    """One argument name or several; everything but the kind may be left out."""
    row = {"kind": "read", "path_arg": "doc", "refetchable": True, "protect": False, "keep_recent": 2}
    assert tool_from_json(row) == Tool(ToolKind.READ, ("doc",), refetchable=True, keep_recent=2)
    assert tool_from_json({"kind": "shell", "command_arg": ["a", "b"]}) == Tool(
        ToolKind.SHELL, command_args=("a", "b")
    )


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({}, "kind"),
        ({"kind": "eat"}, "kind"),
        ({"kind": "read", "colour": 1}, "colour"),
        ({"kind": "read", "path_arg": 1}, "path_arg"),
        ({"kind": "read", "command_arg": [1]}, "command_arg"),
        ({"kind": "read", "protect": "yes"}, "protect"),
        ({"kind": "read", "refetchable": 1}, "refetchable"),
        ({"kind": "read", "keep_recent": -1}, "keep_recent"),
        ({"kind": "read", "keep_recent": True}, "keep_recent"),
    ],
)
def test_a_wrong_row_is_refused_by_its_key(row: dict[str, object], key: str) -> None:
    """The message names the key, so that it can be corrected."""
    with pytest.raises(Configuration, match=key):
        tool_from_json(row)


def test_a_tool_of_a_server_is_found_however_the_names_are_joined() -> None:
    """Under its own name too only where the row says so."""
    rows = 'server = "box"\nkind = "read"\nnames = ["open"]'
    own = parse_catalogue(f"[[tool]]\n{rows}")
    for name in ("mcp__box__open", "box_open", "mcp_box_open", "box-open", "Box.Open"):
        assert own.find(name).kind is ToolKind.READ, name
    assert not own.knows("open")
    assert parse_catalogue(f"[[tool]]\nalone = true\n{rows}").knows("open")


def test_a_policy_extends_the_catalogue() -> None:
    """Rows of a tenant, one argument name or several; without any it is the shipped one."""
    assert Policy().catalogue is SHIPPED
    row = {"kind": "read", "path_arg": "doc", "command_arg": ["a", "b"], "protect": True}
    own = parse_policy(json.dumps({"tools": {"crm_*": row}})).catalogue
    assert own.find("CRM_get") == Tool(ToolKind.READ, ("doc",), ("a", "b"), protect=True)
    assert own.find("Read") == SHIPPED.find("Read")
    with pytest.raises(Configuration, match="kind"):
        parse_policy('{"tools": {"x": {"kind": "eat"}}}')
