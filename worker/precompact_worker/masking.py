"""Masking secrets before a transcript leaves: texts, and whole messages with all the texts in them."""

from __future__ import annotations

import re
from typing import Any

from precompact_shared.engine.summary import Carried
from precompact_shared.engine.types import Message
from precompact_worker.named_secrets import looks_random, mask_named
from precompact_worker.private_keys import mask_private_keys
from precompact_worker.secret_forms import mask_forms

REPEATED = "[secret: repeated]"
MOST_REPEATED = 100
"""Secrets of a text that are looked for in the rest of it."""


def mask(text: str) -> str:
    """The text with each secret that was found replaced by its kind in brackets. The same text gives the same result.

    Known forms of keys and tokens, private keys, passwords in URLs and commands, and values behind names like
    `password =`; what was found once is replaced wherever the text has it. No entropy: hashes and ids of a conversation are what a summary is about. O(characters).
    """
    found: list[str] = []
    text = mask_named(mask_forms(mask_private_keys(text), found), found)
    for secret in dict.fromkeys(one.rstrip(".:!?") for one in found[:MOST_REPEATED]):
        if looks_random(secret):
            text = text.replace(secret, REPEATED)
    return text


def mask_message(message: Message) -> Message:
    """The message with its texts masked, arguments of calls among them. Ids, names, media and signatures stay as they are."""
    masked: Message = _masked("", message, _NO_TEXT)
    return masked


def mask_facts(facts: Carried) -> Carried:
    """The same for facts that were read off messages before; what is masked already stays as it is."""
    return Carried.from_json(_masked("", facts.to_json(), _NO_TEXT))


def _masked(name: str, value: Any, spared: frozenset[str]) -> Any:
    if isinstance(value, str):
        return value if name in spared or _MEDIA.match(value) else mask(value)
    if isinstance(value, list):
        return [_masked(name, one, spared) for one in value]
    if isinstance(value, dict):
        inner = frozenset[str]() if name in _ARGUMENTS else spared
        return {key: _masked(key, one, inner) for key, one in value.items()}
    return value


_ARGUMENTS = frozenset({"input", "arguments", "action"})
"""Of a call: whatever its fields are called, they may hold anything."""
_MEDIA = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,")
_NO_TEXT = frozenset(
    {
        "id",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "type",
        "role",
        "name",
        "data",
        "signature",
        "encrypted_content",
        "touch",
        "status",
    }
)
