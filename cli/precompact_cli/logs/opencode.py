"""OpenCode's exported sessions: `{info, messages}`, each message with parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from precompact_cli.logs.document import document_head, read_document
from precompact_cli.logs.events import Damaged, Event, Head
from precompact_cli.logs.lines import record, text_of
from precompact_cli.logs.opencode_telling import Telling, opened
from precompact_shared.engine.types import Format


class OpenCode:
    """Reads what `opencode export` writes."""

    tool = "opencode"
    format = Format.OPENAI_CHAT

    def recognise(self, head: Head) -> bool:
        """An `info` with OpenCode's session id, or a first message made of `info` and `parts`."""
        for found in document_head(head):
            if found.key == "info" and str(record(found.value).get("id", "")).startswith("ses_"):
                return True
            if found.is_item:
                return isinstance(record(found.value).get("parts"), list) and "info" in found.value
        return False

    def read(self, stream: BinaryIO) -> Iterator[Event]:
        """One chat message a step with its results behind it; `compaction` parts with the summary as a boundary."""
        telling, info = Telling(), dict[str, Any]()
        for found in read_document(stream, "messages"):
            if isinstance(found, Damaged):
                yield found
            elif found.is_item:
                yield from telling.message(found.line, record(found.value))
            elif found.key == "info":
                info = record(found.value)
                yield opened(info, text_of(info.get("id")))
        yield from telling.revert(record(info.get("revert")))
