"""What servers have said that no protocol foresees: over a socket of the test's own, which says anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.types import Format
from precompact_shared.errors import PrecompactError
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Api, CallMode, ProviderName, ProviderSpec
from precompact_shared.settings import Settings
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.book import Book
from precompact_worker.providers.base import Reply, Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.registry import Desk, make_providers
from precompact_worker.providers.verdicts import (
    ProviderFailed,
    ProviderMisconfigured,
    ProviderRejected,
    ProviderUnusable,
)
from tests.contract.asking import KEYS, request_for
from tests.support.fake_llm import Answer, FakeLLM, events, failing, streaming
from tests.support.wires import WIRES, Wire

ANTHROPIC, RESPONSES, CHAT = WIRES


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each protocol."""
    found: Wire = request.param
    return found


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the usual places."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


class Call:
    """One summary asked of a server that gives these answers."""

    def __init__(self, spec: ProviderSpec, *answers: Answer, wire: Format = Format.ANTHROPIC) -> None:
        self.spec, self.format = spec, wire
        self.server = FakeLLM(list(answers))
        job = JobTag(jid="j", version=1, kind=JobKind.DUE, state=JobState.RUNNING, fence=3)
        self.book = Book(job, monotonic_s, Policy().price_of)

    async def run(self, request: Request | None = None) -> Reply:
        """The reply, or what it raises."""
        async with self.server as server:
            base = server.url + ("" if self.spec.name is ProviderName.ANTHROPIC else "/v1")
            spec = self.spec.model_copy(update={"base_url": base})
            clients = Clients(Settings(anthropic_base_url=base, openai_base_url=base))
            try:
                [provider] = make_providers(spec, Desk(Policy(), self.format, clients))
                return await provider.summarise(request or request_for(self.format), self.book)
            finally:
                await clients.close()

    async def failure(self) -> PrecompactError:
        """What it raises."""
        with pytest.raises(PrecompactError) as raised:
            await self.run()
        return raised.value

    @property
    def outcomes(self) -> list[object]:
        """Of the calls on record."""
        return [record["outcome"] for record in self.book.records()]


def asking(wire: Wire, *answers: Answer, **fields: Any) -> Call:
    """A call over that protocol."""
    return Call(wire.spec("http://127.0.0.1:9", **fields), *answers)


def chunk(delta: Any, finish: str | None = None, **fields: Any) -> bytes:
    """A chunk of a chat."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps({**base, **fields}).encode() + b"\n\n"


async def test_too_large_a_source_is_divided_further_from_the_original(wire: Wire) -> None:
    """70 %, then 50 % of the room: nothing is left out, everything is on record."""
    call = asking(wire, wire.error(400, "overflow"), wire.reply("a record"), window=6_000, max_output=600)
    request = request_for(Format.ANTHROPIC, 30)
    reply = await call.run(request)
    assert reply.text == "a record"
    assert reply.seen_tokens is not None
    assert reply.seen_tokens >= 0.97 * request.covered_tokens
    assert call.outcomes[0] in {"prompt_too_long", "context_length_exceeded"}
    asked = [wire.asked(one.body) for one in call.server.requests[1:]]
    assert len(asked) > 1
    for number in range(30):
        assert sum(f"request {number}:" in one for one in asked) >= 1
    assert "a record" in asked[1]


async def test_what_was_refused_as_too_large_is_never_sent_again_as_it_was(wire: Wire) -> None:
    """Also where the model takes far less than the tables say: each request is another, the first parts get smaller."""
    too_large = [wire.error(400, "overflow")] * 3
    call = asking(wire, *too_large, wire.reply("a record"), window=200_000, max_output=2_000)
    assert (await call.run(request_for(Format.ANTHROPIC, 30))).text == "a record"
    sizes = [len(wire.asked(one.body)) for one in call.server.requests[:4]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


async def test_a_reply_that_was_cut_off_gets_twice_the_room_once(wire: Wire) -> None:
    """And is on record with what it cost."""
    call = asking(wire, wire.reply("a rec", stop="length"), wire.reply("a record"))
    assert (await call.run()).text == "a record"
    assert call.outcomes == ["max_tokens", "ok"]
    names = ("max_tokens", "max_output_tokens", "max_completion_tokens")
    rooms = [next(one.body[name] for name in names if name in one.body) for one in call.server.requests]
    assert rooms[1] == 2 * rooms[0]


async def test_an_empty_reply_is_asked_for_once_more(wire: Wire) -> None:
    """What was written the second time is used; both are paid for."""
    call = asking(wire, wire.reply(" \n"), wire.reply("a record"))
    assert (await call.run()).text == "a record"
    assert call.outcomes == ["empty", "ok"]
    assert [record["output_tokens"] for record in call.book.records()] == [70, 70]


async def test_the_form_that_was_asked_for_stands_behind_the_conversation(wire: Wire) -> None:
    """So that a long transcript does not bury it; the whole conversation is there."""
    call = asking(wire, wire.reply("a record"))
    await call.run()
    [sent] = call.server.requests
    asked = wire.asked(sent.body)
    assert asked.rindex("## Addresses") > asked.rindex("pomegranate")


async def test_what_is_never_sent_and_what_always_is(wire: Wire) -> None:
    """No sampling, which newer models refuse; no tools; nothing stored, nothing dropped silently, usage in streams."""
    call = asking(wire, wire.reply("a record"))
    await call.run()
    [sent] = call.server.requests
    refused = {"temperature", "top_p", "top_k", "tools", "tool_choice", "stop_sequences", "stop"}
    assert not refused & set(sent.body)
    assert sent.body["stream"] is True
    always: dict[str, dict[str, Any]] = {
        "responses": {"store": False, "truncation": "disabled"},
        "chat": {"stream_options": {"include_usage": True}},
    }
    for name, value in always.get(wire.name, {}).items():
        assert sent.body[name] == value


async def test_a_window_nobody_knows_is_refused_with_what_to_do(wire: Wire) -> None:
    """No call is made on a guess."""
    call = asking(wire, wire.reply("a record"), window=None)
    call.spec = call.spec.model_copy(update={"model": "house-model"})
    failure = await call.failure()
    assert isinstance(failure, ProviderMisconfigured)
    assert "window" in str(failure)
    assert call.server.requests == []


MISSHAPEN: dict[str, bytes] = {
    "anthropic": events([("content_block_delta", {"type": "content_block_delta", "delta": "half"})]),
    "responses": events(
        [("response.completed", {"type": "response.completed", "response": {"output": [1]}})]
    ),
    "chat": chunk({"content": 17}),
}


async def test_an_event_of_another_shape_is_no_stumble(wire: Wire) -> None:
    """It passes, like a page in place of an answer."""
    call = asking(wire, streaming(MISSHAPEN[wire.name]))
    assert isinstance(await call.failure(), ProviderFailed)
    assert call.outcomes == ["garbled"]


async def test_an_event_that_is_no_json(wire: Wire) -> None:
    """A proxy's words in the middle of a stream."""
    call = asking(wire, streaming(b"event: message_start\ndata: upstream went away\n\n"))
    assert isinstance(await call.failure(), ProviderFailed)
    assert call.outcomes == ["garbled"]


@pytest.mark.parametrize("body", [[], "x", {}, None, 3, {"choices": []}, {"content": "x"}, {"output": 3}])
async def test_json_of_another_shape_is_no_reply(wire: Wire, body: Any) -> None:
    """Status 200 says nothing."""
    call = asking(wire, failing(200, body), stream=False)
    failure = await call.failure()
    assert isinstance(failure, ProviderFailed), failure
    assert set(call.outcomes) <= {"garbled", "cut_off"}


@pytest.mark.parametrize(
    ("error", "family"),
    [
        ({"type": "overloaded_error", "code": "server_is_overloaded", "message": "no"}, ProviderFailed),
        (
            {"type": "billing_error", "code": "insufficient_quota", "message": "no"},
            ProviderMisconfigured,
        ),
        ({"message": "Provider returned error", "code": 502}, ProviderFailed),
    ],
)
async def test_an_error_with_status_200(wire: Wire, error: dict[str, Any], family: type[Exception]) -> None:
    """Routers send it in place of a reply."""
    call = asking(wire, failing(200, {"error": error}), stream=False)
    assert isinstance(await call.failure(), family)


@pytest.mark.parametrize("finish", ["error", "abort"])
async def test_a_chat_that_says_it_broke_off(finish: str) -> None:
    """However good its words."""
    raw = chunk({"content": "half a record"}) + chunk({}, finish) + b"data: [DONE]\n\n"
    call = asking(CHAT, streaming(raw))
    assert isinstance(await call.failure(), ProviderFailed)
    assert call.outcomes == ["broken_off"]


async def test_a_chat_whose_content_comes_in_parts() -> None:
    """As some compatible servers write it."""
    parts = [{"type": "text", "text": "a "}, {"type": "text", "text": "record"}]
    raw = chunk({"content": parts}) + chunk({}, "eos") + b"data: [DONE]\n\n"
    call = asking(CHAT, streaming(raw))
    assert (await call.run()).text == "a record"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "7"}, "none", [1]])
async def test_a_usage_that_tells_nothing_spoils_nothing(usage: Any) -> None:
    """The reply is good; what nobody told is not made up."""
    raw = chunk({"content": "a record"}) + chunk({}, "stop", usage=usage) + b"data: [DONE]\n\n"
    call = asking(CHAT, streaming(raw))
    assert (await call.run()).text == "a record"
    [record] = call.book.records()
    assert (record["outcome"], record["input_tokens"]) == ("ok", 0)


def responded(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A finished response."""
    base = {"id": "resp_a", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return {**base, "error": None, "incomplete_details": None, "output": list(output), **fields}


MESSAGE = {
    "type": "message",
    "id": "msg_a",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "let me look", "annotations": []}],
}
CALLS = {"type": "function_call", "id": "f", "call_id": "c", "name": "t", "arguments": "{}"}


@pytest.mark.parametrize("stream", [True, False])
async def test_words_beside_a_tool_call_are_no_record(stream: bool) -> None:
    """A completed response with both: it was about to do something else."""
    body = responded(MESSAGE, CALLS)
    told = events([("response.completed", {"type": "response.completed", "response": body})])
    answer = streaming(told) if stream else failing(200, body)
    call = asking(RESPONSES, answer, stream=stream)
    assert isinstance(await call.failure(), ProviderUnusable)
    assert call.outcomes == ["tool_call", "tool_call"]


async def test_a_search_of_the_providers_own_is_no_call() -> None:
    """It has run by the time the reply is there."""
    body = responded({"type": "web_search_call", "id": "w", "status": "completed"}, MESSAGE)
    call = asking(RESPONSES, failing(200, body), stream=False)
    assert (await call.run()).text == "let me look"


async def test_a_last_event_that_leaves_out_what_was_streamed() -> None:
    """Some servers end with an empty `output`: the deltas are the reply."""
    at = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": [], "sequence_number": 0}
    told: list[tuple[str, dict[str, Any]]] = [
        ("response.output_text.delta", {"type": "response.output_text.delta", "delta": "a record", **at}),
        ("response.completed", {"type": "response.completed", "response": responded()}),
    ]
    call = asking(RESPONSES, streaming(events(told)))
    assert (await call.run()).text == "a record"


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled", "mystery"])
async def test_a_response_that_is_not_finished(status: str) -> None:
    """Status 200, and half of it may even be there."""
    call = asking(RESPONSES, failing(200, responded(MESSAGE, status=status)), stream=False)
    assert isinstance(await call.failure(), ProviderFailed)


@pytest.mark.parametrize("reason", [None, "steered"])
async def test_a_response_that_is_incomplete_for_no_known_reason(reason: str | None) -> None:
    """It is not used, whatever text there is."""
    why = {"reason": reason} if reason else None
    body = responded(MESSAGE, status="incomplete", incomplete_details=why)
    call = asking(RESPONSES, failing(200, body), stream=False)
    assert isinstance(await call.failure(), ProviderUnusable)


def spoken(stop: str | None, *content: Any, **fields: Any) -> dict[str, Any]:
    """A whole message of Anthropic's."""
    usage = {"input_tokens": 9, "output_tokens": 2}
    base = {"id": "msg_a", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    return {**base, "content": list(content), "stop_reason": stop, "usage": usage, **fields}


TEXT = {"type": "text", "text": "a record"}


@pytest.mark.parametrize(
    ("stop", "family", "outcome"),
    [
        ("something_new", ProviderRejected, "unknown_stop"),
        ("stop_sequence", ProviderUnusable, "stop_sequence"),
        (None, ProviderFailed, "cut_off"),
    ],
)
async def test_a_stop_reason_we_did_not_ask_for(
    stop: str | None, family: type[Exception], outcome: str
) -> None:
    """Text alone is not enough."""
    call = asking(ANTHROPIC, failing(200, spoken(stop, TEXT)), stream=False)
    assert isinstance(await call.failure(), family)
    assert set(call.outcomes) == {outcome}


async def test_usage_is_the_sum_over_iterations() -> None:
    """The top level leaves compaction out; in a stream they come with the last delta."""
    one = {"type": "compaction", "input_tokens": 100, "output_tokens": 20}
    rows = [{**one, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}] * 2
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    begun = {"type": "message_start", "message": spoken(None)}
    block = {"type": "content_block_start", "index": 0, "content_block": TEXT}
    told: list[tuple[str, dict[str, Any]]] = [
        ("message_start", begun),
        ("content_block_start", block),
        ("message_delta", {**delta, "usage": {"output_tokens": 0, "iterations": rows}}),
        ("message_stop", {"type": "message_stop"}),
    ]
    call = asking(ANTHROPIC, streaming(events(told)))
    await call.run()
    [record] = call.book.records()
    assert (record["input_tokens"], record["cache_read_tokens"], record["cache_write_tokens"]) == (200, 6, 8)
    assert record["output_tokens"] == 40


async def test_a_long_call_without_a_stream_is_sent() -> None:
    """The SDK would raise `ValueError` before sending, for it expects more than ten minutes."""
    spec = ANTHROPIC.spec("http://127.0.0.1:9", stream=False, call_timeout_s=600, window=900_000)
    call = Call(spec.model_copy(update={"max_output": 100_000}), failing(200, spoken("end_turn", TEXT)))
    request = request_for(Format.ANTHROPIC)
    made = {name: getattr(request, name) for name in request.__slots__}
    await call.run(Request(**{**made, "max_tokens": 60_000}))
    assert call.server.requests[0].body["max_tokens"] > 21_333


BLOCK = {"type": "compaction", "content": "a record", "signature": "sig"}


def native(name: ProviderName, *answers: Answer, stream: bool = False) -> Call:
    """A native compaction."""
    is_anthropic = name is ProviderName.ANTHROPIC
    model = "claude-opus-5-5" if is_anthropic else "gpt-6-sol"
    spec = ProviderSpec(name=name, model=model, mode=CallMode.NATIVE, stream=stream)
    wire = Format.ANTHROPIC if is_anthropic else Format.OPENAI_RESPONSES
    return Call(spec, *answers, wire=wire)


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ([], "no_block"),
        (None, "garbled"),
        ([BLOCK, BLOCK], "two_blocks"),
        ([TEXT, BLOCK], "not_first"),
        ([{**BLOCK, "content": None}], "empty"),
        ([{**BLOCK, "content": " "}], "empty"),
        ([{"type": "compaction", "content": "a record"}], "unsigned"),
        ([{**BLOCK, "encrypted_content": None}], "null_field"),
    ],
)
async def test_a_block_that_could_not_be_sent_back_is_not_taken(content: Any, outcome: str) -> None:
    """Its stop reason says that all is well; as JSON and as a stream."""
    whole = failing(200, {**spoken("compaction"), "content": content})
    call = native(ProviderName.ANTHROPIC, whole)
    assert isinstance(await call.failure(), PrecompactError)
    assert call.outcomes == [outcome]
    if content is not None:
        call = native(ProviderName.ANTHROPIC, streaming(streamed(*map(json.dumps, content))), stream=True)
        assert isinstance(await call.failure(), PrecompactError)
        assert call.outcomes == [outcome]


def streamed(*blocks: str) -> bytes:
    """A compaction as a stream, with the blocks as they are written."""
    begun = {"type": "message_start", "message": spoken(None)}
    lines = [f"event: message_start\ndata: {json.dumps(begun)}\n\n: a comment\n\n"]
    for at, block in enumerate(blocks):
        data = f'{{"type":"content_block_start","index":{at},"content_block":{block}}}'
        lines.append(f"event: content_block_start\ndata: {data}\n\nevent: ping\ndata: {{}}\n\n")
    row = {"type": "compaction", "input_tokens": 900, "output_tokens": 310}
    delta = {"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": {"iterations": [row]}}
    lines.append(f"event: message_delta\r\ndata: {json.dumps(delta)}\r\n\r\n")
    return "".join([*lines, 'event: message_stop\ndata: {"type":"message_stop"}\n\n']).encode()


ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ([], "no_block"),
        ([MESSAGE], "no_block"),
        ([ITEM, ITEM], "two_blocks"),
        ([{**ITEM, "encrypted_content": ""}], "empty"),
        ([{**ITEM, "encrypted_content": None}], "empty"),
        (None, "garbled"),
    ],
)
async def test_a_window_without_its_one_item_is_not_taken(output: Any, outcome: str) -> None:
    """Status 200, `object` is right."""
    body = {"id": "r", "object": "response.compaction", "created_at": 1, "output": output}
    call = native(ProviderName.OPENAI, failing(200, body))
    assert isinstance(await call.failure(), PrecompactError)
    assert call.outcomes == [outcome]


@pytest.mark.parametrize("stream", [True, False])
async def test_the_bytes_of_a_block_are_kept(stream: bool) -> None:
    """Odd spacing, escapes and unknown fields included; usage is that of the iterations."""
    odd = '{ "type":"compaction", "content":"Gr\\u00fc\\u00dfe \\/ 世界","signature":"s" , "later_field":1.0}'
    usage = '{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":310}]}'
    whole = f'{{"stop_reason":"compaction","content":[{odd}],"usage":{usage}}}'.encode()

    async def answer(to: Any) -> None:
        await to.send(200, whole)

    call = native(ProviderName.ANTHROPIC, streaming(streamed(odd)) if stream else answer, stream=stream)
    reply = await call.run()
    assert reply.native is not None
    assert reply.native.items == (b'{"role":"assistant","content":[' + odd.encode() + b"]}",)
    [record] = call.book.records()
    assert (record["input_tokens"], record["output_tokens"]) == (900, 310)


@pytest.mark.parametrize("stream", [True, False])
async def test_the_bytes_of_an_item_are_kept(stream: bool) -> None:
    """And what stands before the newest one is left out, as a caller without a chain may do."""
    odd = '{"id":"cmp_1" ,"type":"compaction","encrypted_content":"c2Vh\\/bGVk","new":null}'
    older = '{"type":"reasoning","id":"rs_1","summary":[]}'
    tail = '"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":2},"output_tokens":1}'
    body = f'{{"id":"resp_a","object":"response","status":"completed","output":[{older},{odd}],{tail}}}'
    data = f'event: response.completed\ndata: {{"type":"response.completed","response":{body}}}\n\n'

    async def answer(to: Any) -> None:
        await to.send(200, body.encode())

    missing = failing(404, {"detail": "Not Found"})
    call = native(ProviderName.OPENAI, missing, streaming(data.encode()) if stream else answer, stream=stream)
    reply = await call.run()
    assert reply.native is not None
    assert reply.native.items == (odd.encode(),)
    assert call.outcomes == ["http_404", "ok"]
    assert call.book.records()[1]["cache_read_tokens"] == 2


async def test_a_chat_server_has_no_native_way() -> None:
    """Nothing is asked of it."""
    spec = ProviderSpec(
        name=ProviderName.OPENAI,
        model="gpt-6-sol",
        api=Api.CHAT,
        mode=CallMode.NATIVE,
        base_url="http://127.0.0.1:9",
    )
    desk = Desk(Policy(), Format.OPENAI_CHAT, Clients(Settings()))
    assert list(make_providers(spec, desk)) == []
