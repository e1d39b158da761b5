"""Rate limits with their headers, and the stand-in's own surface for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest

from precompact_shared.clock import monotonic_s
from precompact_standin.scenario import Limits, Pace
from tests.support.standin import Served

ASK: list[Any] = [{"role": "user", "content": "Rename the module."}]
START_S = 1_800_000_000.0


def claude_says(claude: Any, **more: Any) -> Any:
    """One request with its headers."""
    wanted: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 100, "messages": ASK, **more}
    return claude.messages.with_raw_response.create(**wanted)


def test_requests_run_out_and_flow_back(claude: Any, play: Callable[..., Served]) -> None:
    """One every 30 seconds at 2 a minute."""
    served = play(limits=Limits(requests=2), start_s=START_S)
    first = claude_says(claude).headers
    assert first["anthropic-ratelimit-requests-limit"] == "2"
    assert first["anthropic-ratelimit-requests-remaining"] == "1"
    assert first["anthropic-ratelimit-requests-reset"] == "2027-01-15T08:00:30Z"
    claude_says(claude)
    with pytest.raises(anthropic.RateLimitError) as caught:
        claude_says(claude)
    assert caught.value.response.headers["retry-after"] == "30"
    served.advance(30)
    claude_says(claude)


@pytest.mark.parametrize(
    ("limits", "more", "name"),
    [
        (
            Limits(input_tokens=3_000),
            {"messages": [{"role": "user", "content": "x" * 5_000}]},
            "input-tokens",
        ),
        (Limits(output_tokens=40), {}, "output-tokens"),
        (Limits(output_tokens=150, charge_max_tokens=True), {}, "output-tokens"),
    ],
)
def test_tokens_run_out_too(
    claude: Any, play: Callable[..., Served], limits: Limits, more: dict[str, Any], name: str
) -> None:
    """Input before, output after it was made."""
    play(limits=limits, start_s=START_S)
    assert f"anthropic-ratelimit-{name}-remaining" in claude_says(claude, **more).headers
    with pytest.raises(anthropic.RateLimitError, match=name):
        for _ in range(3):
            claude_says(claude, **more)


def test_what_is_read_from_the_cache_costs_no_input(claude: Any, play: Callable[..., Served]) -> None:
    """Ten times the limit goes through."""
    play(limits=Limits(input_tokens=3_000), start_s=START_S)
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": "x" * 5_000, "cache_control": mark}]
    for _ in range(10):
        claude_says(claude, system=system)


def test_limits_are_each_keys_and_models_own(claude: Any, play: Callable[..., Served]) -> None:
    """Another model has another bucket."""
    play(limits=Limits(requests=1), start_s=START_S)
    claude_says(claude)
    claude_says(claude, model="claude-haiku-4-5")
    claude_says(claude.with_options(api_key="sk-other"))
    with pytest.raises(anthropic.RateLimitError):
        claude_says(claude)


def test_openai_writes_them_its_own_way(gpt: Any, play: Callable[..., Served]) -> None:
    """Resets are spans of time."""
    play(limits=Limits(requests=1, input_tokens=100_000), start_s=START_S)
    raw = gpt.responses.with_raw_response.create(model="gpt-6-sol", input="Hi.")
    assert raw.headers["x-ratelimit-limit-requests"] == "1"
    assert raw.headers["x-ratelimit-reset-requests"] == "1m0s"
    assert raw.headers["x-ratelimit-limit-tokens"] == "100000"
    with pytest.raises(openai.RateLimitError) as caught:
        gpt.responses.create(model="gpt-6-sol", input="Hi.")
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "60"


def test_answers_take_their_time(claude: Any, play: Callable[..., Served]) -> None:
    """Before the first byte, and for every token, in a stream too."""
    play(pace=Pace(first_byte_s=0.1, per_token_s=0.01), reply_text="x" * 40)
    for stream in (False, True):
        begin_s = monotonic_s()
        answer = claude_says(claude, stream=stream)
        if stream:
            list(answer.parse())
        assert monotonic_s() - begin_s >= 0.1 + 0.01 * 20


def control(standin: Served, path: str, body: Any = None) -> httpx.Response:
    """A call of the surface for tests."""
    if body is None:
        return httpx.get(f"{standin.url}/standin/{path}")
    return httpx.post(f"{standin.url}/standin/{path}", json=body)


def test_the_log_tells_sizes_and_outcomes_but_no_text_and_no_key(claude: Any, standin: Served) -> None:
    """Not even of headers and error messages."""
    secret = "tell-nobody"
    claude_says(claude.with_options(api_key=f"sk-{secret}"), messages=[{"role": "user", "content": secret}])
    with pytest.raises(anthropic.BadRequestError):
        claude_says(
            claude, messages=[{"role": "user", "content": [{"type": "text", "text": secret, "x": secret}]}]
        )
    text = control(standin, "requests").text
    assert secret not in text
    good, refused = control(standin, "requests").json()["requests"]
    assert (good["status"], good["model"], good["lengths"]) == (200, "claude-opus-5", {"messages": 1})
    assert good["headers"]["anthropic-version"] == "2026-10-21"
    assert "authorization" not in good["headers"]
    assert good["usage"]["output_tokens"] > 0
    assert refused["refusal"]["rule"] == "A19"


def test_a_scenario_can_be_posted_and_begun_anew(claude: Any, standin: Served) -> None:
    """What it cannot be is told."""
    posted = {"faults": [{"fault": {"kind": "overloaded"}, "on": [1]}], "start_s": START_S}
    assert control(standin, "scenario", posted).status_code == 200
    for _ in range(2):
        with pytest.raises(anthropic.OverloadedError):
            claude_says(claude)
        claude_says(claude)
        assert control(standin, "reset", {}).status_code == 200
    refused = control(standin, "scenario", {"fault": []})
    assert refused.status_code == 400
    assert "fault" in refused.json()["error"]


def test_the_clock_is_moved_from_outside(standin: Served, play: Callable[..., Served]) -> None:
    """It stands still until then."""
    play(start_s=START_S)
    assert control(standin, "clock", {"advance_s": 0}).json() == {"now_s": START_S}
    assert control(standin, "clock", {"advance_s": 90.5}).json() == {"now_s": START_S + 90.5}


def test_azures_newer_path_and_header_are_known(standin: Served) -> None:
    """`/openai/v1` with `api-key`."""
    answer = httpx.post(
        f"{standin.url}/openai/v1/responses",
        headers={"api-key": "k"},
        json={"model": "gpt-6-sol", "input": "Hi."},
    )
    assert answer.status_code == 200
