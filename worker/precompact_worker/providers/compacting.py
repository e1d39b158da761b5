"""The ways to a provider's own compaction: what each sends, and what of its reply opens the next context."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from precompact_shared.engine.in_band import ON_DEMAND_BETA
from precompact_shared.engine.native import NativeFault, native_fault
from precompact_shared.engine.types import Format, Message
from precompact_shared.engine.usage import Usage, anthropic_usage, responses_usage
from precompact_shared.provider_spec import Platform, ProviderSpec
from precompact_worker.book import Call
from precompact_worker.providers import anthropic, anthropic_verdicts, openai, openai_verdicts
from precompact_worker.providers.failures import Garbled
from precompact_worker.providers.replies import judge_final
from precompact_worker.providers.speaking import named
from precompact_worker.providers.tapping import message_of, response_of, tapped
from precompact_worker.providers.verdicts import OK, Failure, Finding, Verdict

LEAST_OUTPUT_TOKENS = 4_096
TRIGGER = {"type": "compaction_trigger"}


class RawReply(msgspec.Struct, frozen=True):
    """A reply as far as it is read here; the parts keep their bytes."""

    content: list[msgspec.Raw] = []
    output: list[msgspec.Raw] = []
    stop_reason: str | None = None
    status: str | None = None
    error: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What is to be compacted, and what the agent's own requests have around it."""

    model: str
    messages: Sequence[Message]
    max_tokens: int
    front: Mapping[str, Any] = field(default_factory=dict)
    """System prompt, tools and the like of the agent's: with the same, its prompt cache is read."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What came: the messages or items that open the next context, or a finding that says why there are none."""

    finding: Finding
    items: tuple[bytes, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Way:
    """One way. `send`: the reply's bytes; it tells the call its id. `is_missing`: a failure says that a server does not know it."""

    name: str
    format: Format
    judge: Callable[[Failure], Finding]
    body: Callable[[Talk], dict[str, Any]]
    send: Callable[[Any, ProviderSpec, dict[str, Any], Call], Awaitable[bytes]]
    is_missing: Callable[[Failure], bool] = lambda _: False

    def open(self, raw: bytes) -> Opened:
        """The reply, read. Raises `Garbled` for what is none."""
        reply = read_raw(raw)
        usage = anthropic_usage if self.format is Format.ANTHROPIC else responses_usage
        finding, items = opened(self.format, reply)
        return Opened(finding, items, usage(reply.usage))


def read_raw(raw: bytes) -> RawReply:
    """The reply's parts with their own bytes. Raises `Garbled`."""
    try:
        return msgspec.json.decode(raw, type=RawReply)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Garbled from None


def opened(format: Format, reply: RawReply) -> tuple[Finding, tuple[bytes, ...]]:  # noqa: A002
    """The messages or items that open the next context, or why there are none."""
    found = _message(reply) if format is Format.ANTHROPIC else _window(reply)
    if isinstance(found, Finding):
        return found, ()
    fault = native_fault(format, [json.loads(item) for item in found])
    if fault is None:
        return OK, found
    verdict = Verdict.EMPTY if fault in {NativeFault.NO_BLOCK, NativeFault.EMPTY} else Verdict.PERMANENT
    return Finding(verdict, fault.value), ()


def _message(reply: RawReply) -> tuple[bytes, ...] | Finding:
    """Anthropic: a message of the assistant's with the block as it came."""
    if reply.stop_reason != "compaction":
        return anthropic_verdicts.judge_reply(reply.stop_reason, "", wants="compaction")
    content = b",".join(bytes(part) for part in reply.content)
    return (b'{"role":"assistant","content":[' + content + b"]}",)


def _window(reply: RawReply) -> tuple[bytes, ...] | Finding:
    """OpenAI: everything that `/responses/compact` returns, or of a response what is from its compaction item on."""
    items = tuple(bytes(item) for item in reply.output)
    if reply.status is None:
        return items
    told = [_object(item) for item in items]
    kinds = [item.get("type") for item in told]
    final = {"status": reply.status, "error": reply.error, "incomplete_details": reply.incomplete_details}
    finding = judge_final({**final, "output": told}, "some" if "compaction" in kinds else "")
    if finding.verdict is not Verdict.OK:
        return finding
    return items[len(kinds) - 1 - kinds[::-1].index("compaction") :]


def _object(raw: bytes) -> dict[str, Any]:
    found = json.loads(raw)
    if not isinstance(found, dict):
        raise Garbled
    return found


def _on_demand_body(talk: Talk) -> dict[str, Any]:
    kept = _kept(talk, "system", "tools")
    if isinstance(thinking := talk.front.get("thinking"), Mapping):
        # Binding controls need a header of their own; nothing of ours is moved, so that there is nothing to control.
        kept["thinking"] = {name: value for name, value in thinking.items() if name != "block_binding"}
    most = anthropic.room_to_think(max(LEAST_OUTPUT_TOKENS, talk.max_tokens), talk.front)
    rest = {"max_tokens": most, "messages": list(talk.messages), "compaction": {"type": "summarize"}}
    return {"model": talk.model, **kept, **rest}


async def _send_on_demand(client: Any, spec: ProviderSpec, body: dict[str, Any], call: Call) -> bytes:
    arguments = named({**body, **anthropic.platform_fields(spec)}, anthropic.NAMED)
    arguments |= {"timeout": spec.call_timeout_s, "betas": [ON_DEMAND_BETA]}
    if (
        spec.stream and spec.platform is not Platform.BEDROCK
    ):  # whose streams come in frames, not as they were written
        stream = await client.beta.messages.create(stream=True, **arguments)
        call.request_id = anthropic.request_id_of(stream.response.headers)
        return message_of(await tapped(stream, spec.idle_timeout_s, call))
    answer = await client.beta.messages.with_raw_response.create(**arguments)
    call.request_id = anthropic.request_id_of(answer.headers)
    return _content(answer)


def _compact_body(talk: Talk) -> dict[str, Any]:
    return {"model": talk.model, "input": list(talk.messages), **_kept(talk, "prompt_cache_key")}


async def _send_compact(client: Any, spec: ProviderSpec, body: dict[str, Any], call: Call) -> bytes:
    answer = await client.responses.with_raw_response.compact(timeout=spec.call_timeout_s, **body)
    call.request_id = openai.request_id_of(answer.headers)
    return _content(answer)


def _trigger_body(talk: Talk) -> dict[str, Any]:
    kept = _kept(talk, "tools", "reasoning", "prompt_cache_key")
    system = {"instructions": talk.front["system"]} if talk.front.get("system") else {}
    return {"model": talk.model, **system, **kept, "input": [*talk.messages, TRIGGER], "store": False}


async def _send_trigger(client: Any, spec: ProviderSpec, body: dict[str, Any], call: Call) -> bytes:
    arguments = {**named(body, openai.NAMED), "timeout": spec.call_timeout_s}
    if spec.stream:
        stream = await client.responses.create(stream=True, **arguments)
        call.request_id = openai.request_id_of(stream.response.headers)
        return response_of(await tapped(stream, spec.idle_timeout_s, call))
    answer = await client.responses.with_raw_response.create(**arguments)
    call.request_id = openai.request_id_of(answer.headers)
    return _content(answer)


def _content(answer: Any) -> bytes:
    content: bytes = answer.http_response.content
    return content


def _kept(talk: Talk, *names: str) -> dict[str, Any]:
    return {name: talk.front[name] for name in names if talk.front.get(name)}


def _no_such_path(failure: Failure) -> bool:
    """404, 405 or 501 that names nothing else it did not find, such as the model."""
    return failure.status in {404, 405, 501} and failure.code in {"", "404", "not_found", "unknown_url"}


ON_DEMAND = Way(
    "anthropic_compact", Format.ANTHROPIC, anthropic_verdicts.judge_failure, _on_demand_body, _send_on_demand
)
COMPACT = Way(
    "openai_compact",
    Format.OPENAI_RESPONSES,
    openai_verdicts.judge_failure,
    _compact_body,
    _send_compact,
    _no_such_path,
)
TRIGGERED = Way(
    "openai_trigger", Format.OPENAI_RESPONSES, openai_verdicts.judge_failure, _trigger_body, _send_trigger
)
WAYS = {Format.ANTHROPIC: (ON_DEMAND,), Format.OPENAI_RESPONSES: (COMPACT, TRIGGERED)}
"""In the order they are tried."""
