"""A recorded conversation: provider JSON, or the log of an agent as its tool wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precompact_cli.exits import InputRefused
from precompact_cli.logs.events import Called
from precompact_cli.logs.lines import MOST_TOKENS, tokens_of
from precompact_cli.logs.opening import read_log
from precompact_cli.logs.session import Session
from precompact_cli.logs.session import View as LogView
from precompact_cli.pacing import Pace, read_pace
from precompact_cli.pipes import seekable
from precompact_cli.view import View
from precompact_shared.engine.formats import InvalidEntry, facts
from precompact_shared.engine.types import Format, Message, Role

_SHAPE = '{"format": "anthropic" | "openai-chat" | "openai-responses", "messages": [...]}'
_MOST_BYTES = 512 * 1024 * 1024
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How gzip's files begin, and Zstandard's."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the model: it saw `messages[:prefix]`, and `messages[:end]` holds its reply."""

    prefix: int
    end: int
    reported: int | None = None
    """The whole prompt in tokens, as the provider counted it; None where it held another context than this."""
    output: int = 0
    reasoned: int | None = None
    """Of the reply, what was reasoning; None where the record does not say."""
    model: str | None = None
    """Where a log names it; None: the recording's."""
    epoch: int = 0
    """How many compactions of the tool's own lay behind the session, where the recording is all that was said."""
    elsewhere: int | None = None
    """The prompt's size as the provider counted it, where the tool had compacted what `messages` still hold."""

    @property
    def counted(self) -> int | None:
        """What the provider counted, of whatever context the session had then."""
        return self.reported or self.elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One conversation and when its model was called."""

    name: str
    format: Format
    model: str | None
    system: Any
    tools: Any
    messages: Sequence[Message]
    """Of a large log each look at a message reads it anew."""
    calls: tuple[ModelCall, ...]
    pace: Pace
    left_out: int = 0
    """Recorded calls that do not continue the list of messages and are not played."""
    log: Session | None = None
    """All the log told, where the file is one."""


def read_recording(
    path: Path, view: View = View.HISTORY, *, sidechain: int = 0, session: str | None = None
) -> Recording:
    """The recording in a file; `sidechain` n takes the n-th sub-agent of a log instead of the main thread.

    `session` is the id of one of several, where the file keeps them; without it the newest is taken. `-` is standard
    input. Raises InputRefused, which says what is wrong and what to do.
    """
    try:
        with seekable(path) as file:
            return _read(file, view, sidechain, session)
    except OSError as error:
        raise _unreadable(error) from None


def _read(path: Path, view: View, sidechain: int, session: str | None) -> Recording:
    log = read_log(path, session)
    if log is not None:
        return _of_log(path, log, view, sidechain)
    if sidechain:
        raise InputRefused("The file is no agent's log; there is no sidechain to take.")
    return _of_provider_json(path)


def _of_provider_json(path: Path) -> Recording:
    body = _object(path)
    wire = _format(body)
    messages = _messages(body, wire)
    calls, left_out = _calls(body.get("usage"), wire, messages)
    model = body.get("model")
    return Recording(
        name=str(body.get("name") or path.stem),
        format=wire,
        model=model if isinstance(model, str) else None,
        system=body.get("system"),
        tools=body.get("tools"),
        messages=messages,
        calls=calls,
        pace=read_pace(_list(body.get("timestamps")), len(messages)),
        left_out=left_out,
    )


def _of_log(path: Path, log: Session, view: View, sidechain: int) -> Recording:
    if sidechain > len(log.sidechains):
        raise InputRefused(f"The log has {len(log.sidechains)} sidechains; ask for one of these.")
    session = log.sidechains[sidechain - 1] if sidechain else log
    taken = {View.BEFORE: session.before, View.AFTER: session.after, View.HISTORY: session.history}[view]()
    if not taken.messages:
        damaged = f", {log.damaged} of its lines are damaged" if log.damaged else ""
        raise InputRefused(f"The log of {log.tool} holds no messages{damaged}; give it another.")
    made = [_made(call, taken) for call in taken.calls]
    calls, left_out = _continuing(made, len(made))
    return Recording(
        name=(log.kept_as or path.stem) + (f"__sidechain{sidechain}" if sidechain else ""),
        format=session.format,
        model=session.model,
        system=session.system,
        tools=session.tools,
        messages=taken.messages,
        calls=calls if taken.calls else tuple(_spoken(session.format, taken.messages)),
        pace=read_pace(taken.stamps, len(taken.messages)),
        left_out=left_out,
        log=log,
    )


def _made(call: Called, view: LogView) -> ModelCall:
    end = max((place + 1 for place in call.produced), default=call.prefix)
    counted, epoch = call.total_input or None, view.epoch(call)
    measured = view.is_measured(call)
    return ModelCall(
        call.prefix,
        max(end, call.prefix),
        counted if measured else None,
        call.output,
        call.reasoning,
        call.model,
        epoch,
        counted if epoch and not measured else None,
    )


def _unreadable(error: OSError) -> InputRefused:
    if isinstance(error, IsADirectoryError):
        return InputRefused(
            "The path is a folder, and none in which OpenCode keeps sessions; name a file in it."
        )
    return InputRefused(f"The file cannot be read ({error.strerror}); check its path.")


def _object(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputRefused("The file is larger than 512 MB; give it in parts.")
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputRefused(_no_text(raw)) from None
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise InputRefused(_no_json(text)) from None
    if isinstance(body, list):
        raise InputRefused(f"The file holds a bare list; wrap it and name its format: {_SHAPE}.")
    if not isinstance(body, dict):
        raise InputRefused(f"The file holds no recording; it should look like {_SHAPE}.")
    return body


def _no_text(raw: bytes) -> str:
    if raw.startswith(_PACKED):
        return "The file is compressed; unpack it, or pipe what is in it to `precompact inspect -`."
    return "The file is no UTF-8 text; a recording is JSON."


def _no_json(text: str) -> str:
    if not text.strip():
        return "The file is empty; give it another."
    lines = [line for line in text.splitlines()[:2] if line.strip()]
    if len(lines) == 2 and all(line.lstrip().startswith("{") for line in lines):
        return (
            "The file holds one JSON object a line, but is no log of Claude Code, Codex, pi, OpenCode or Gemini CLI; "
            f"turn it into one object: {_SHAPE}."
        )
    return f"The file is not valid JSON; it should look like {_SHAPE}."


def _format(body: Mapping[str, Any]) -> Format:
    try:
        return Format(body.get("format", ""))
    except ValueError:
        raise InputRefused(f"`format` has to be one of: {', '.join(Format)}.") from None


def _messages(body: Mapping[str, Any], wire: Format) -> list[Message]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputRefused("`messages` has to be a list with at least one message or item in it.")
    for index, message in enumerate(messages):
        try:
            facts(wire, message)
        except InvalidEntry as error:
            raise InputRefused(
                f"messages[{index}] is no message of the format {wire} ({error.code}); correct it or `format`."
            ) from None
    return messages


def _calls(usage: Any, wire: Format, messages: Sequence[Message]) -> tuple[tuple[ModelCall, ...], int]:
    recorded = [entry for entry in _list(usage) if isinstance(entry, dict) and not entry.get("endpoint")]
    if not recorded:
        return tuple(_spoken(wire, messages)), 0
    found = [_recorded(entry, len(messages)) for entry in recorded]
    return _continuing([call for call in found if call is not None], len(recorded))


def _continuing(found: Sequence[ModelCall], recorded: int) -> tuple[tuple[ModelCall, ...], int]:
    """The calls that each go on behind the one before, and how many of the recorded ones do not."""
    calls: list[ModelCall] = []
    for call in found:
        if call.prefix >= (calls[-1].end if calls else 1):
            calls.append(call)
    return tuple(calls), recorded - len(calls)


def _recorded(entry: Mapping[str, Any], count: int) -> ModelCall | None:
    prefix, produced = entry.get("prefix"), _list(entry.get("produced"))
    if type(prefix) is not int or not 0 < prefix <= count:
        return None
    end = max((index + 1 for index in produced if type(index) is int), default=prefix)
    reasoned = entry.get("reasoning")
    return ModelCall(
        prefix,
        min(max(end, prefix), count),
        tokens_of(entry.get("total_input")) or None,
        tokens_of(entry.get("output")),
        reasoned if type(reasoned) is int and 0 <= reasoned <= MOST_TOKENS else None,
    )


def _spoken(wire: Format, messages: Sequence[Message]) -> list[ModelCall]:
    """Without recorded calls every run of the assistant's messages is the reply to one."""
    spoke = [facts(wire, message).role is Role.ASSISTANT for message in messages] + [False]
    calls: list[ModelCall] = []
    start: int | None = None
    for index, speaks in enumerate(spoke):
        if speaks and start is None:
            start = index
        elif not speaks and start is not None:
            calls.append(ModelCall(max(start, 1), index))
            start = None
    return [call for call in calls if call.prefix < call.end]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
