"""Fields of requests, messages and blocks, as the API's types list them (`!` required, `?` may be null)."""

from __future__ import annotations

from precompact_standin.anthropic.headers import COMPACT, EDITING, THRESHOLD
from precompact_standin.shapes import Shape, shape

REQUEST = shape(
    "max_tokens! messages! model! cache_control? container? diagnostics? inference_geo? metadata output_config",
    "service_tier speed? stop_sequences stream system thinking:object tool_choice:object tools user_profile_id workspace_id",
    "compaction? context_management? mcp_servers temperature top_p top_k",
)
COUNT_REQUEST = shape(
    "messages! model! cache_control? output_config speed? system thinking:object tool_choice:object tools user_profile_id",
    "workspace_id compaction? context_management? mcp_servers",
)
BETA_FIELDS: dict[str, frozenset[str]] = {
    "compaction": frozenset({COMPACT}),
    "context_management": frozenset({EDITING, THRESHOLD, COMPACT}),
    "mcp_servers": frozenset({"mcp-client-2025-11-20"}),
}
"""Fields of a request that only exist under one of these betas."""

MESSAGES: dict[str, Shape] = {
    "user": shape("content! role!"),
    "assistant": shape("content! role!"),
    "system": shape("content! role! clear_at? output_config?"),
}
BLOCKS: dict[str, Shape] = {
    "text": shape("text! type! cache_control? citations?"),
    "image": shape("source! type! cache_control? transformations?"),
    "document": shape("source! type! cache_control? citations? context? title?"),
    "search_result": shape("content! source! title! type! cache_control? citations"),
    "thinking": shape("signature thinking! type!"),
    "redacted_thinking": shape("data! type!"),
    "tool_use": shape("id! input!:object name! type! cache_control? caller toolset_name?"),
    "tool_result": shape("tool_use_id! type! cache_control? content is_error toolset_name?"),
    "server_tool_use": shape("id! input! name! type! cache_control? caller"),
    "web_search_tool_result": shape("content! tool_use_id! type! cache_control? caller"),
    "web_fetch_tool_result": shape("content! tool_use_id! type! cache_control? caller"),
    "advisor_tool_result": shape("content! tool_use_id! type! cache_control?"),
    "code_execution_tool_result": shape("content! tool_use_id! type! cache_control?"),
    "bash_code_execution_tool_result": shape("content! tool_use_id! type! cache_control?"),
    "text_editor_code_execution_tool_result": shape("content! tool_use_id! type! cache_control?"),
    "tool_search_tool_result": shape("content! tool_use_id! type! cache_control?"),
    "mcp_tool_use": shape("id! input! name! server_name! type! cache_control?"),
    "mcp_tool_result": shape("tool_use_id! type! cache_control? content is_error"),
    "container_upload": shape("file_id! type! cache_control?"),
    "compaction": shape("type! cache_control content? signature tool_changes encrypted_content"),
    "tool_addition": shape("tool! type! cache_control?"),
    "tool_removal": shape("tool! type! cache_control?"),
    "tool_reference": shape("tool_name! type! cache_control?"),
    "browser_state": shape("type! tabs changes cache_control? state"),
}
ROLE_BLOCKS: dict[str, frozenset[str]] = {
    "system": frozenset({"text", "tool_addition", "tool_removal", "compaction"}),
    "user": frozenset(
        {"text", "image", "document", "search_result", "tool_result", "container_upload", "compaction"}
    ),
    "assistant": frozenset(BLOCKS)
    - {
        "image",
        "search_result",
        "tool_result",
        "tool_addition",
        "tool_removal",
        "tool_reference",
        "browser_state",
    },
}
"""Which blocks a message of that role may hold. A `document` of the assistant falls to the API version."""
RESULT_PARTS = frozenset({"text", "image", "document", "search_result", "tool_reference", "browser_state"})
TOOL = shape(
    "input_schema! name! allowed_callers cache_control? defer_loading description eager_input_streaming?",
    "input_examples strict type?",
)
CACHE_CONTROL = shape("type! ttl")
AMOUNT = shape("type! value!")
"""A trigger, what is kept, what is cleared at least."""
COMPACTION = shape("type! instructions?")
CONTEXT_MANAGEMENT = shape("edits")
EDITS: dict[str, Shape] = {
    "compact_20260112": shape("type! instructions? pause_after_compaction trigger?"),
    "clear_tool_uses_20250919": shape("type! clear_at_least? clear_tool_inputs? exclude_tools? keep trigger"),
    "clear_thinking_20251015": shape("type! keep"),
}
OUTPUT_CONFIG = shape("effort? format? task_budget?")
METADATA = shape("user_id?")
THINKING: dict[str, Shape] = {
    "enabled": shape("type! budget_tokens! block_binding? display?"),
    "adaptive": shape("type! block_binding? display?"),
    "between_tools": shape("type! block_binding? display? budget_tokens"),
    "disabled": shape("type!"),
}
