"""The size of the body: A21."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from precompact_shared.engine.identity import canonical
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate.check import Check, Severity, Subject
from precompact_shared.engine.validate.request import OUTSIDE

_MOST_BYTES = 32 * 1024 * 1024
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def _too_big(subject: Subject) -> Iterable[int]:
    request = subject.request
    total = sum(_bytes(value) for value in (request.system, request.tools) if value)
    if total > _MOST_BYTES:
        yield OUTSIDE
        return
    for index, message in enumerate(subject.messages):
        total += _bytes(message) + 1
        if total > _MOST_BYTES:
            yield index
            return


def _bytes(value: Any) -> int:
    try:
        return len(_encode(value).encode("utf-8", "surrogatepass"))
    except (RecursionError, ValueError):
        return len(canonical(Format.ANTHROPIC, value))


CHECKS = (Check("A21", Severity.ERROR, "the JSON body has at most 32 MB", "doc", _too_big),)
"""Counts messages, and tools and system if they are known; the message that goes over the limit is reported."""
