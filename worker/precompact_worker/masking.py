"""Masking secrets before a transcript leaves."""

from __future__ import annotations

from precompact_worker.named_secrets import mask_named
from precompact_worker.private_keys import mask_private_keys
from precompact_worker.secret_forms import mask_forms


def mask(text: str) -> str:
    """The text with each secret that was found replaced by its kind in brackets. The same text gives the same result.

    Known forms of keys and tokens, private keys, passwords in URLs and commands, and values behind names like
    `password =`. No entropy: hashes and ids of a conversation are what a summary is about. O(characters).
    """
    return mask_named(mask_forms(mask_private_keys(text)))
