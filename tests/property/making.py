"""Entries and candidate tags for tests: what they hold follows from a short text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from precompact_shared.store.types import CandidateTag, NewEntry, Slot


def made_entry(text: str, role: str = "u", tokens: int = 10, **facts: Any) -> NewEntry:
    """An entry whose body and digest come from `text` alone."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return NewEntry(digest=digest, tokens=tokens, body=b"r" + text.encode(), role=role, **facts)


def body_of(digests: Iterable[str]) -> bytes:
    """The body of a candidate in these tests: what it was made from, entry by entry."""
    return b"r" + ",".join(digest[:12] for digest in digests).encode()


def candidate_tag(cid: str, upto: int, prefix: str, **facts: Any) -> CandidateTag:
    """A tag as a worker would write it; what the store fills in itself is left at nonsense on purpose."""
    known: dict[str, Any] = {
        "version": 999,
        "slot": Slot.SPECULATIVE,
        "preset": "precompact",
        "preset_version": "1",
        "tokens_before": 100,
        "tokens_after": 20,
        "length_at_snapshot": upto,
        "tokens_at_snapshot": 100,
        "provider": "scripted",
    }
    return CandidateTag(cid=cid, upto=upto, prefix=prefix, **{**known, **facts})
