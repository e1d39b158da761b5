"""What of a message costs tokens: the texts to count, and how much there is of what cannot be counted as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from precompact_shared.engine.formats.media import AUDIO, DOCUMENTS, IMAGES
from precompact_shared.engine.formats.reading import as_json, kind_of

_NOT_READ = frozenset(
    {
        "annotations",
        "cache_control",
        "call_id",
        "caller",
        "citations",
        "filename",
        "fingerprint",
        "id",
        "internal_chat_message_metadata_passthrough",
        "logprobs",
        "media_type",
        "metadata",
        "page_age",
        "phase",
        "reasoning_details",
        "role",
        "server_label",
        "server_name",
        "signature",
        "status",
        "tool_call_id",
        "tool_use_id",
        "type",
    }
)
"""Keys the model never sees as text, or that cost nothing worth counting."""

_ENCRYPTED = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})
"""Keys of encrypted text, which stands for tokens without being text."""

_BLOBS = frozenset({"data", "file_data", "b64_json", "url", "image_url"})
"""Keys that may hold base64."""

_LONGEST_PLAIN_BLOB_CHARS = 1_000
"""What is longer under such a key is taken for base64, one image."""

_PAYLOADS = frozenset({"input", "arguments", "action", "operation", "parameters", "input_schema"})
"""Keys whose objects the model reads as JSON."""


@dataclass(slots=True)
class Weight:
    """Texts to count, media by number, and characters of encrypted text that stands for tokens."""

    texts: list[str] = field(default_factory=list)
    images: int = 0
    documents: int = 0
    encrypted_chars: int = 0


def weigh(message: Any) -> Weight:
    """Collect what `message` holds, in any wire format; parts of unknown types by the same rules."""
    weight = Weight()
    todo = [message]
    while todo:
        value = todo.pop()
        if type(value) is str:
            weight.texts.append(value)
        elif type(value) is list:
            todo.extend(value)
        elif type(value) is dict and not _is_media(weight, value, todo):
            _descend(weight, value, todo)
    return weight


def _is_media(weight: Weight, part: dict[str, Any], todo: list[Any]) -> bool:
    kind = part.get("type")
    if not isinstance(kind, str):
        return False
    if kind in IMAGES or kind in AUDIO or kind == "image_generation_call":
        weight.images += 1
        return True
    if kind not in DOCUMENTS:
        return False
    source = part.get("source")
    if isinstance(source, dict) and kind_of(source) in {"text", "content"}:
        todo.append(source.get("data", source.get("content")))
    else:
        weight.documents += 1
    return True


def _descend(weight: Weight, value: dict[str, Any], todo: list[Any]) -> None:
    for key, inner in value.items():
        if key in _NOT_READ or inner is None:
            continue
        if type(inner) is str and _is_no_text(weight, key, inner, value):
            continue
        if key in _PAYLOADS and type(inner) is not str:
            weight.texts.append(as_json(inner))
        else:
            todo.append(inner)


def _is_no_text(weight: Weight, key: str, text: str, owner: dict[str, Any]) -> bool:
    if key in _ENCRYPTED or owner.get("type") == "redacted_thinking":
        weight.encrypted_chars += len(text)
        return True
    if key in _BLOBS and len(text) > _LONGEST_PLAIN_BLOB_CHARS:
        weight.images += 1
        return True
    return False
