"""`POST /v1/responses`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from precompact_standin.answers import Answer
from precompact_standin.openai import fields
from precompact_standin.openai.prompt import head, item_pieces, readable
from precompact_standin.openai.reading import checked_body
from precompact_standin.openai.request import Item, Request, kind_of, read_request
from precompact_standin.openai.rules import check
from precompact_standin.openai.running import Pass, output_limit, room_left, run
from precompact_standin.openai.usage import response_usage
from precompact_standin.openai.writing_responses import written
from precompact_standin.saying import Asked, Ending, Said
from precompact_standin.scenario import FaultKind
from precompact_standin.state import Call, State
from precompact_standin.summarising import Spoken

COMPACT_PROMPT = "Summarize the conversation so that the work can go on without it."
SUMMARY_TOKENS = 4_000


def responses(state: State, call: Call) -> Answer:
    """A reply, a compaction item where the input ends with a trigger, or both where a threshold was reached."""
    request = read_checked(state, call)
    room = room_left(window_pieces(state, request, request.window), request.model, "input")
    if request.triggered:
        done, output = _compacted(state, call, request, request.window, room)
    elif _over_threshold(state, request):
        first, items = _compacted(state, call, request, request.window, room)
        rest = [*items, *_newest_user(request)]
        done = _run(state, call, request, rest, room)
        output = [*items, *_output(state, request, done.said)]
        state.cache.commit(first.plan)
    else:
        done = _run(state, call, request, request.window, room)
        output = _output(state, request, done.said)
    body = _body(state, call, request, done, output)
    call.facts["usage"], call.facts["status_of_response"] = body["usage"], body["status"]
    if request.stores:
        state.stored[body["id"]] = [*request.window, *output]
    stream = bool(call.body.get("stream"))
    return written(
        body, stream=stream, fault=call.fault, on_begin=_begin(state, done), tokens=done.said.tokens
    ).with_headers(done.headers)


def read_checked(state: State, call: Call) -> Request:
    """The request, held against all rules."""
    checked_body(call.body, fields.RESPONSES)
    request = read_request(state, call, state.model(call.body["model"]))
    check(request)
    return request


def window_pieces(state: State, request: Request, items: Sequence[Item]) -> list[Any]:
    """The prompt that the model reads with these items."""
    return [
        *head(request.body, state.counter, request.model),
        *item_pieces(from_newest_compaction(items), state.counter, request.model, request.signer),
    ]


def from_newest_compaction(items: Sequence[Item]) -> list[Item]:
    """Items from the newest compaction on; user messages that `/responses/compact` kept before it stay."""
    at = max((at for at, item in enumerate(items) if kind_of(item) == "compaction"), default=0)
    kept = [item for item in items[:at] if item.get("role") in {"user", "developer", "system"}]
    return [*kept, *items[at:]]


def sealed_item(state: State, request: Request, text: str) -> Item:
    """A compaction item holding `text`, opaque to everybody else."""
    record = {"kind": "compaction", "text": text, "org": request.workspace, "model": request.model.name}
    return {
        "id": state.next_id("cmp"),
        "type": "compaction",
        "encrypted_content": request.signer.seal(record),
    }


def spoken(request: Request, items: Sequence[Item]) -> list[Spoken]:
    """Texts of the items and whose they are."""
    return [
        Spoken(str(item.get("role", "assistant")), text)
        for item in items
        for text in readable(item, request.signer)
    ]


def _over_threshold(state: State, request: Request) -> bool:
    tokens = sum(piece.tokens for piece in window_pieces(state, request, request.window))
    wanted = [entry.get("compact_threshold") for entry in request.body.get("context_management") or []]
    return any(threshold is not None and tokens >= threshold for threshold in wanted)


def _compacted(
    state: State, call: Call, request: Request, items: Sequence[Item], room: int
) -> tuple[Pass, list[Item]]:
    asked = Asked(spoken(request, items), COMPACT_PROMPT, "", SUMMARY_TOKENS, room, always_summary=True)
    done = run(state, call, request.model, window_pieces(state, request, items), asked)
    finished = done.said.ending is Ending.DONE and done.said.text.strip()
    return done, [sealed_item(state, request, done.said.text)] if finished else []


def _run(state: State, call: Call, request: Request, items: Sequence[Item], room: int) -> Pass:
    said = spoken(request, items)
    newest = said[-1].text if said and said[-1].role in {"user", "developer"} else ""
    effort = (request.body.get("reasoning") or {}).get("effort")
    asked = Asked(
        said,
        newest,
        str(request.body.get("instructions") or "") or _leading(request),
        output_limit(call.body, request.model, "max_output_tokens"),
        room,
        thinks=effort not in {None, "none"},
        tools=[str(tool.get("name")) for tool in request.body.get("tools") or []],
    )
    return run(state, call, request.model, window_pieces(state, request, items), asked)


def _leading(request: Request) -> str:
    first = request.window[0] if request.window else {}
    leads = first.get("role") in {"system", "developer"}
    return "\n".join(readable(first, request.signer)) if leads else ""


def _newest_user(request: Request) -> list[Item]:
    return [item for item in request.items[-1:] if item.get("role") == "user"]


def _output(state: State, request: Request, said: Said) -> list[Item]:
    if said.ending is Ending.FAILED:
        return []
    status = "incomplete" if said.ending in {Ending.LENGTH, Ending.WINDOW, Ending.FILTERED} else "completed"
    thinking = _reasoning(state, request, said) if said.thinking_tokens else []
    rest = [*_message(state, said, status), *(_call(state, call.name, call.input) for call in said.calls)]
    for item in rest if thinking else []:
        state.companions[item["id"]] = thinking[0]["id"]
    return [*thinking, *rest]


def _reasoning(state: State, request: Request, said: Said) -> list[Item]:
    item: Item = {"id": state.next_id("rs"), "type": "reasoning", "summary": []}
    item["encrypted_content"] = request.signer.seal({"kind": "reasoning", "text": said.thinking})
    return [item]


def _message(state: State, said: Said, status: str) -> list[Item]:
    if said.ending is Ending.REFUSED:
        part: dict[str, Any] = {"type": "refusal", "refusal": "I cannot help with that."}
    elif said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
    else:
        return []
    item = {"id": state.next_id("msg"), "type": "message", "role": "assistant", "status": status}
    return [{**item, "content": [part]}]


def _call(state: State, name: str, arguments: dict[str, Any]) -> Item:
    text = msgspec.json.encode(arguments).decode()
    ids = {"id": state.next_id("fc"), "call_id": state.next_id("call")}
    return {**ids, "type": "function_call", "name": name, "arguments": text, "status": "completed"}


def _body(state: State, call: Call, request: Request, done: Pass, output: Sequence[Item]) -> dict[str, Any]:
    status, error, incomplete = _outcome(done.said, call)
    body = request.body
    return {
        "id": state.next_id("resp"),
        "object": "response",
        "created_at": int(state.now_s()),
        "model": request.model.name,
        "status": status,
        "error": error,
        "incomplete_details": incomplete,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "output": list(output),
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "store": request.stores,
        "temperature": body.get("temperature"),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
        "truncation": body.get("truncation") or "disabled",
        "usage": response_usage(done.plan, done.said, request.model),
    }


def _outcome(said: Said, call: Call) -> tuple[str, dict[str, str] | None, dict[str, str] | None]:
    if said.ending is Ending.FAILED:
        code = said.code or "server_error"
        return "failed", {"code": code, "message": "The model could not answer."}, None
    reasons = {
        Ending.LENGTH: "max_output_tokens",
        Ending.WINDOW: "max_output_tokens",
        Ending.FILTERED: "content_filter",
    }
    if said.ending in reasons:
        scripted = call.fault is not None and call.fault.kind is FaultKind.INCOMPLETE and said.code
        return "incomplete", None, {"reason": said.code if scripted else reasons[said.ending]}
    return "completed", None, None


def _begin(state: State, done: Pass) -> Callable[[], None]:
    return lambda: state.cache.commit(done.plan)
