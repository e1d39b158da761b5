"""Gemini CLI's records, and the parts of Gemini's API in them, in the words of Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from precompact_cli.logs.chat_media import image_part, shown_by_tools, with_images
from precompact_cli.logs.lines import listed, record, text_of
from precompact_shared.engine.types import Message

_MEDIA = "inlineData"


def user_of(content: Any) -> list[Message]:
    """What the user said; results that stand in it as parts are tools' messages."""
    parts = _parts(content)
    gave = [result for part in parts if (result := record(part.get("functionResponse")))]
    text, images = _text(parts), [image_part(_url(part)) for part in parts if _is_image(part)]
    said: list[Message] = [{"role": "user", "content": with_images(text, images)}]
    answers = [one for told in gave for one in results_of([_answered(told)])]
    return [*answers, *(said if text or images or not gave else ())]


def reply_of(content: Any, calls: list[dict[str, Any]]) -> Message:
    """A reply with these calls and those that stand in it as parts."""
    parts = _parts(content)
    named = {call.get("id") for call in calls}
    more = [
        call for part in parts if (call := record(part.get("functionCall"))) and call.get("id") not in named
    ]
    text = _text(parts)
    reply: Message = {"role": "assistant", "content": text or None}
    made = [_call(one) for one in [*calls, *more]]
    if made:
        reply["tool_calls"] = made
    return reply if text or made else {**reply, "content": ""}


def results_of(calls: list[dict[str, Any]]) -> list[Message]:
    """The results of these calls, and behind them what they showed."""
    images: list[Message] = []
    results = [_result(call, images) for call in calls]
    return [*results, *shown_by_tools(images)]


def call_ids(content: Any, kind: str) -> list[str]:
    """Ids of the parts of this kind: `functionCall` or `functionResponse`."""
    return [str(told.get("id")) for part in _parts(content) if (told := record(part.get(kind)))]


def is_answer_alone(content: Any) -> bool:
    """Whether there are results in it and nothing else."""
    parts = _parts(content)
    return bool(parts) and all("functionResponse" in part for part in parts)


def own_result(call: dict[str, Any]) -> Any:
    """A call's result; where a list holds those of calls beside it too, they are left out."""
    told = call.get("result")
    if not isinstance(told, list):
        return told
    return [
        one for one in told if record(record(one).get("functionResponse")).get("id") in {None, call.get("id")}
    ]


def _answered(told: dict[str, Any]) -> dict[str, Any]:
    return {"id": told.get("id"), "result": [{"functionResponse": told}]}


def _parts(content: Any) -> list[dict[str, Any]]:
    given = content if isinstance(content, list) else [content]
    return [{"text": one} if isinstance(one, str) else record(one) for one in given]


def _text(parts: list[dict[str, Any]]) -> str:
    """All that is text and no thought, and names of files that stand elsewhere."""
    texts = (text_of(part.get("text")) or _other(part) for part in parts if part.get("thought") is not True)
    return "\n".join(filter(None, texts))


def _other(part: dict[str, Any]) -> str:
    where = record(part.get("fileData"))
    if where:
        return f"[file {text_of(where.get('fileUri')) or ''}]"
    data = record(part.get(_MEDIA))
    return f"[file {text_of(data.get('mimeType')) or ''}]" if data and not _is_image(part) else ""


def _is_image(part: dict[str, Any]) -> bool:
    return str(record(part.get(_MEDIA)).get("mimeType")).startswith("image/")


def _url(part: dict[str, Any]) -> str:
    data = record(part.get(_MEDIA))
    return f"data:{data.get('mimeType')};base64,{text_of(data.get('data')) or ''}"


def _call(call: dict[str, Any]) -> Message:
    given = call.get("args")
    arguments = json.dumps({} if given is None else given, ensure_ascii=False)
    function = {"name": str(call.get("name")), "arguments": arguments}
    return {"id": str(call.get("id")), "type": "function", "function": function}


def _result(call: dict[str, Any], images: list[Message]) -> Message:
    told = _without_images(own_result(call), images)
    content = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": str(call.get("id")), "content": content}


def _without_images(told: Any, images: list[Message]) -> Any:
    """The same without the data of images, which go to `images`."""
    if isinstance(told, list):
        return [_without_images(one, images) for one in told]
    if not isinstance(told, dict):
        return told
    if _is_image(told):
        images.append(image_part(_url(told)))
        return {**told, _MEDIA: {"mimeType": told[_MEDIA]["mimeType"]}}
    return {key: _without_images(one, images) for key, one in told.items()}


def messages_of(told: dict[str, Any]) -> Iterator[Message]:
    """A record's messages: what was said, or a reply and the results of its calls."""
    if told.get("type") == "user":
        yield from user_of(told.get("content"))
        return
    calls = [record(one) for one in listed(told.get("toolCalls"))]
    yield reply_of(told.get("content"), calls)
    yield from results_of(calls)
