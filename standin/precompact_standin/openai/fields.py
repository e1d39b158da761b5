"""Fields of requests, items, parts and messages, as the API's types list them (`!` required, `?` may be null)."""

from __future__ import annotations

from precompact_standin.shapes import Shape, shape

RESPONSES = shape(
    "access_programs background? background_options context_management?:list conversation? image include? input",
    "instructions? max_output_tokens? max_tool_calls? metadata? model! moderation? parallel_tool_calls?",
    "previous_response_id? prompt? prompt_cache_key? prompt_cache_options prompt_cache_retention? reasoning?",
    "safety_identifier? service_tier? store? stream? stream_options? temperature? text:object tool_choice tools",
    "top_logprobs? top_p? truncation? user",
)
COMPACT = shape(
    "model!? image input? instructions? previous_response_id? prompt_cache_key? prompt_cache_options?",
    "prompt_cache_retention? service_tier?",
)
INPUT_TOKENS = shape(
    "conversation? input? instructions? model? parallel_tool_calls? personality previous_response_id? reasoning?",
    "text?:object tool_choice? tools? truncation",
)
CHAT = shape(
    "messages! model! audio? frequency_penalty? function_call functions logit_bias? logprobs?",
    "max_completion_tokens? max_tokens? metadata? modalities? moderation? n? parallel_tool_calls prediction?",
    "presence_penalty? prompt_cache_key? prompt_cache_options prompt_cache_retention? reasoning_effort?",
    "response_format safety_identifier? seed? service_tier? stop? store? stream? stream_options? temperature?",
    "tool_choice tools top_logprobs? top_p? user verbosity? web_search_options",
)
ITEMS: dict[str, Shape] = {
    "message": shape("content! role! type id phase? status?"),
    "file_search_call": shape("id! queries! status! type! results?"),
    "computer_call": shape("id! call_id! pending_safety_checks! status! type! action actions"),
    "computer_call_output": shape("call_id! output! type! id? acknowledged_safety_checks? status?"),
    "web_search_call": shape("id! action! status! type!"),
    "function_call": shape("async arguments! call_id! name! type! id caller? namespace status"),
    "function_call_output": shape("output! type! call_id! id? caller? name? namespace? status?"),
    "tool_search_call": shape("arguments! type! id? call_id? execution status?"),
    "tool_search_output": shape("tools! type! id? call_id? execution status?"),
    "additional_tools": shape("role! tools! type! id?"),
    "configuration_update": shape("type! id? reasoning text:object"),
    "reasoning": shape("id summary! type! content? encrypted_content? status"),
    "compaction": shape("encrypted_content! type! id? created_by"),
    "image_generation_call": shape(
        "id! result!? status! type! action? background? error output_format? quality? revised_prompt? size? svg_usage"
    ),
    "code_interpreter_call": shape("id! code!? container_id! outputs!? status! type!"),
    "local_shell_call": shape("id! action! call_id! status! type!"),
    "local_shell_call_output": shape("id! output! type! status?"),
    "shell_call": shape("action! call_id! type! id? caller? environment? status?"),
    "shell_call_output": shape("call_id! output! type! id? caller? max_output_length? status?"),
    "apply_patch_call": shape("call_id! operation! status! type! id? caller?"),
    "apply_patch_call_output": shape("call_id! status! type! id? caller? output?"),
    "mcp_list_tools": shape("id! server_label! tools! type! error?"),
    "mcp_approval_request": shape("id! arguments! name! server_label! type!"),
    "mcp_approval_response": shape("approval_request_id! approve! type! id? reason?"),
    "mcp_call": shape("id! arguments! name! server_label! type! approval_request_id? error? output? status"),
    "custom_tool_call_output": shape("call_id! output! type! id caller?"),
    "custom_tool_call": shape("async call_id! input! name! type! id caller? namespace status"),
    "compaction_trigger": shape("type! id?"),
    "item_reference": shape("id! type?"),
    "program": shape("id! call_id! code! fingerprint! type!"),
    "program_output": shape("id! call_id! result! status! type!"),
}
PARTS: dict[str, Shape] = {
    "input_text": shape("text! type! prompt_cache_breakpoint"),
    "input_image": shape("detail type! file_id? image_url? prompt_cache_breakpoint"),
    "input_file": shape("type! detail file_data file_id? file_url filename prompt_cache_breakpoint"),
    "output_text": shape("text! type! annotations logprobs"),
    "refusal": shape("refusal! type!"),
}
USER_PARTS = frozenset({"input_text", "input_image", "input_file"})
ASSISTANT_PARTS = frozenset({"output_text", "refusal"})
REASONING = shape("context? effort? generate_summary? mode summary?")
TEXT = shape("format verbosity?")
CACHE_OPTIONS = shape("comparison_response_id? mode prewarm ttl")
FUNCTION_TOOL = shape(
    "async name! parameters!? strict!? type! allowed_callers? defer_loading description? output_schema?"
)

CHAT_MESSAGES: dict[str, Shape] = {
    "developer": shape("content! role! name"),
    "system": shape("content! role! name"),
    "user": shape("content! role! name"),
    "assistant": shape("role! audio? content? function_call? name refusal? tool_calls annotations"),
    "tool": shape("content! role! tool_call_id! name"),
    "function": shape("content!? name! role!"),
}
CHAT_PARTS: dict[str, Shape] = {
    "text": shape("text! type! prompt_cache_breakpoint"),
    "image_url": shape("image_url! type! prompt_cache_breakpoint"),
    "input_audio": shape("input_audio! type! prompt_cache_breakpoint"),
    "file": shape("file! type! prompt_cache_breakpoint"),
    "refusal": shape("refusal! type!"),
}
CHAT_CALL = shape("id! type! function custom")
