"""Sizes as the API says them: what a caller tells with `usage`, and what texts and pictures weigh."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import httpx
import pytest

CJK = "不要修改配置文件，先运行测试，然后告诉我结果。" * 200
_numbers = itertools.count()


def prepare(http: httpx.Client, session: str, messages: list[Any], length: int = 0, **told: Any) -> Any:
    """The context of one call."""
    body = {"seen": {"version": 0, "length": length}, "messages": messages, "adopt": "never", **told}
    made = {"format": "openai-chat", "model": "gpt-5.1", "window": 10_000_000}
    answer = http.post(f"/v1/sessions/{session}/prepare", json=made | body)
    assert answer.status_code == 200, answer.text
    return answer.json()["context"]


def size_of(http: httpx.Client, content: Any) -> int:
    """Tokens of one user message."""
    tokens = prepare(http, f"one-{next(_numbers)}", [{"role": "user", "content": content}])["tokens"]
    assert isinstance(tokens, int)
    return tokens


def test_chinese_is_not_four_characters_a_token(http: httpx.Client) -> None:
    """Nor one token a character."""
    assert len(CJK) / 4 < size_of(http, CJK) < len(CJK)


def test_a_picture_weighs_the_same_however_long_its_base64_is(http: httpx.Client) -> None:
    """It is no text."""
    sizes = set()
    for count in (3_000, 300_000):
        data = base64.b64encode(bytes(range(250)) * (count // 250)).decode()
        url = f"data:image/png;base64,{data}"
        sizes.add(size_of(http, [{"type": "image_url", "image_url": {"url": url}}]))
    assert len(sizes) == 1
    assert sizes.pop() < 5_000


def test_more_text_is_more_and_how_it_is_parted_hardly_matters(http: httpx.Client) -> None:
    """Monotone, and within a thousandth."""
    lines = [f"line {number} of the log says that nothing happened\n" for number in range(4_000)]
    sizes = [size_of(http, "".join(lines[:count])) for count in (1, 10, 100, 1_000, 4_000)]
    assert sizes == sorted(set(sizes))
    parts = [{"type": "text", "text": "".join(lines[at : at + 500])} for at in range(0, 4_000, 500)]
    assert size_of(http, parts) == pytest.approx(sizes[-1], rel=0.001)


def test_an_absurd_report_makes_no_negative_size(http: httpx.Client) -> None:
    """One token reported of a long prompt, and a reply of which all was reasoning."""
    messages = [{"role": "user", "content": CJK}]
    prepare(http, "s", messages)
    usage = {"input_tokens": 1, "version": 0, "length": 1, "output_tokens": 1, "reasoning_tokens": 900_000}
    news = [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "go on"}]
    assert prepare(http, "s", news, 1, usage=usage)["tokens"] >= 0
    usage = {"input_tokens": 2, "version": 0, "length": 3}
    news = [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "go on"}]
    assert prepare(http, "s", news, 3, usage=usage)["tokens"] >= 0


def test_reasoning_that_is_told_is_in_the_next_prompt_until_the_user_speaks(http: httpx.Client) -> None:
    """The transcript does not hold it."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    prepare(http, "s", [{"role": "user", "content": "find it"}])
    told = {"input_tokens": 5_000, "version": 0, "length": 1, "output_tokens": 2_020}
    reply = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    result = [{"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    during = prepare(http, "s", [*reply, *result], 1, usage=told | {"reasoning_tokens": 2_000})
    assert during["tokens"] == pytest.approx(5_000 + 2_000 + 30, abs=20)
    assert during["source"] == "usage"
    end = [{"role": "assistant", "content": "found"}, {"role": "user", "content": "thanks"}]
    assert prepare(http, "s", end, 3)["tokens"] == pytest.approx(5_000 + 40, abs=100)


def test_usage_over_server_side_tools_is_no_size(http: httpx.Client) -> None:
    """It sums up several passes."""
    prepare(http, "s", [{"role": "user", "content": "look it up"}])
    reply = [{"role": "assistant", "content": "here"}, {"role": "user", "content": "more"}]
    before = prepare(http, "s", reply, 1, usage={"input_tokens": 900, "version": 0, "length": 1})["tokens"]
    told = {"input_tokens": 90_000, "version": 0, "length": 3, "server_tools": True}
    reply = [{"role": "assistant", "content": "there"}, {"role": "user", "content": "thanks"}]
    after = prepare(http, "s", reply, 3, usage=told)
    assert after["tokens"] == pytest.approx(before, abs=150)
    assert after["spread"] > 0


def test_a_report_that_no_model_can_mean_is_refused(http: httpx.Client) -> None:
    """The largest that may be is carried whole."""
    prepare(http, "s", [{"role": "user", "content": "hi"}])
    usage = {"input_tokens": 2**40, "version": 0, "length": 1, "output_tokens": 2**40}
    assert prepare(http, "s", [], 1, usage=usage)["tokens"] == 2**40
    body = {"seen": {"version": 0, "length": 1}, "messages": [], "usage": usage | {"input_tokens": 2**40 + 1}}
    answer = http.post("/v1/sessions/s/prepare", json=body)
    assert (answer.status_code, answer.json()["where"]) == (400, "$.usage.input_tokens")
