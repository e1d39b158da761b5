"""The fields each block of the Messages API has; the vendor's SDK has the same, and a test holds them together."""

from __future__ import annotations

MARK = "cache_control"

FIELDS: dict[str, frozenset[str]] = {
    kind: frozenset({"type", *fields.split()})
    for kind, fields in {
        "text": "text cache_control citations",
        "image": "source cache_control transformations",
        "document": "source cache_control citations context title",
        "search_result": "content source title cache_control citations",
        "thinking": "thinking signature",
        "redacted_thinking": "data",
        "tool_use": "id name input cache_control caller toolset_name",
        "tool_result": "tool_use_id content is_error cache_control toolset_name",
        "server_tool_use": "id name input cache_control caller",
        "web_search_tool_result": "tool_use_id content cache_control caller",
        "web_fetch_tool_result": "tool_use_id content cache_control caller",
        "advisor_tool_result": "tool_use_id content cache_control",
        "code_execution_tool_result": "tool_use_id content cache_control",
        "bash_code_execution_tool_result": "tool_use_id content cache_control",
        "text_editor_code_execution_tool_result": "tool_use_id content cache_control",
        "tool_search_tool_result": "tool_use_id content cache_control",
        "mcp_tool_use": "id name input server_name cache_control",
        "mcp_tool_result": "tool_use_id content is_error cache_control",
        "container_upload": "file_id cache_control",
        "compaction": "content encrypted_content signature tool_changes cache_control",
        "tool_addition": "tool cache_control",
        "tool_removal": "tool cache_control",
        "mcp_tool_listing": "mcp_server_name tools",
        "fallback": "from to trigger",
        "tool_reference": "tool_name cache_control",
        "browser_state": "tabs state_changes cache_control",
    }.items()
}
"""Block type -> its fields. A type that is not here may have any."""

NULLABLE: dict[str, frozenset[str]] = {
    "text": frozenset({"citations"}),
    "image": frozenset({"transformations"}),
    "document": frozenset({"citations", "context", "title"}),
    "tool_use": frozenset({"toolset_name"}),
    "tool_result": frozenset({"toolset_name"}),
    "compaction": frozenset({"content"}),
    "browser_state": frozenset({"state_changes"}),
}
"""Fields that may be null, besides `cache_control`. The SDK says so of a compaction block's `encrypted_content` and
`tool_changes` too, but the API refuses those."""

MESSAGE_FIELDS = frozenset({"role", "content"})
IN_A_RESULT = frozenset({"text", "image", "document", "search_result", "tool_reference", "browser_state"})
IMAGE_SOURCES = frozenset({"base64", "url", "file"})
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
DOCUMENT_TYPES = {"base64": "application/pdf", "text": "text/plain"}
"""Source type -> its media type."""
