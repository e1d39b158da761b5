"""Which fields an object may have, written as a line: `name!` is required, `name?` may be null, `name` is optional.

What a field holds goes by its name, for names mean the same almost everywhere; `name:kind` says otherwise, with
`str`, `int`, `bool`, `object`, `list` or `any`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from precompact_standin.refusal import Refusal, broken

_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "object": (dict,),
    "list": (list,),
    "any": (object,),
}
_NAMES: Mapping[str, str] = {
    "str": "type id name role model call_id tool_use_id tool_call_id signature data thinking refusal title text"
    " encrypted_content instructions previous_response_id prompt_cache_key prompt_cache_retention ttl mode file_id"
    " tool_name effort reasoning_effort truncation service_tier speed server_name description",
    "int": "max_tokens max_output_tokens max_completion_tokens budget_tokens value compact_threshold",
    "bool": "stream store parallel_tool_calls is_error background pause_after_compaction",
    "object": "cache_control metadata source output_config compaction context_management reasoning stream_options"
    " prompt_cache_options input_schema trigger clear_at_least block_binding task_budget function",
    "list": "tools messages stop_sequences edits include tool_calls exclude_tools",
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names.split()}


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one kind of object."""

    allowed: frozenset[str]
    required: tuple[str, ...]
    nullable: frozenset[str]
    kinds: Mapping[str, tuple[type, ...]]

    def faults(self, value: Mapping[str, Any], path: str, rule: str) -> Refusal | None:
        """What is wrong with `value`: the first missing, unknown, null or odd field, named by its path."""
        for name in self.required:
            if name not in value:
                return broken(rule, f"{_joined(path, name)}: Field required", param=_joined(path, name))
        for name, content in value.items():
            if (wrong := self._wrong(name, content)) is not None:
                return broken(rule, f"{_joined(path, name)}: {wrong}", param=_joined(path, name))
        return None

    def _wrong(self, name: str, content: Any) -> str | None:
        if name not in self.allowed:
            return "Extra inputs are not permitted"
        if content is None:
            return None if name in self.nullable else "Input should not be null"
        wanted = self.kinds[name]
        if not isinstance(content, wanted) or (isinstance(content, bool) and wanted == (int,)):
            return f"Input should be a valid {wanted[0].__name__}"
        return None


def shape(line: str, *more: str) -> Shape:
    """Read a line of fields; further lines are added to it."""
    fields = [field.partition(":")[::2] for part in (line, *more) for field in part.split()]
    marks = {mark.rstrip("!?"): mark for mark, _ in fields}
    kinds = {mark.rstrip("!?"): kind for mark, kind in fields}
    return Shape(
        frozenset(marks),
        tuple(name for name, mark in marks.items() if "!" in mark),
        frozenset(name for name, mark in marks.items() if "?" in mark),
        {name: _KINDS[kind or _KIND_OF.get(name, "any")] for name, kind in kinds.items()},
    )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
