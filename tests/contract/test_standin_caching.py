"""The stand-in's prompt cache as both SDKs see it in usage: written, read, renewed, lost, and lied about."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from precompact_standin import Scenario
from precompact_standin.scenario import CacheLies, ModelRow, Pace
from tests.support.standin import Served

MODEL = "claude-opus-5"
LONG = "A long system prompt. " * 400
QUESTION: dict[str, Any] = {"role": "user", "content": "Go on."}


def system(ttl: str = "5m", text: str = LONG) -> list[Any]:
    """A system prompt with a breakpoint behind it."""
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}]


def ask(claude: Any, **more: Any) -> Any:
    """Usage of one request; its prompt is the sum of the three input fields."""
    wanted: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 50,
        "messages": [QUESTION],
        "system": system(),
        **more,
    }
    return claude.messages.create(**wanted).usage


def still(**more: Any) -> dict[str, Any]:
    """Fields of a scenario whose clock stands still."""
    return {"start_s": 1_800_000_000.0, **more}


@pytest.fixture
def at_rest(play: Callable[..., Served]) -> Served:
    """A server whose clock moves by hand alone."""
    return play(**still())


def test_a_prefix_is_written_once_and_read_later(claude: Any, at_rest: Served) -> None:
    """The three fields always add up to the prompt."""
    first, second = ask(claude), ask(claude)
    assert first.cache_creation_input_tokens == first.cache_creation.ephemeral_5m_input_tokens > 512
    assert first.cache_read_input_tokens == 0
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert second.cache_creation_input_tokens == 0
    assert second.input_tokens == first.input_tokens < 20


@pytest.mark.parametrize(("ttl", "lives_s"), [("5m", 300), ("1h", 3_600)])
def test_a_prefix_lives_its_time_and_a_hit_renews_it(
    claude: Any, at_rest: Served, ttl: str, lives_s: int
) -> None:
    """From the start of the request that read it."""
    wanted = {"system": system(ttl)}
    written = ask(claude, **wanted).cache_creation_input_tokens
    for _ in range(3):
        at_rest.advance(lives_s - 1)
        assert ask(claude, **wanted).cache_read_input_tokens == written
    at_rest.advance(lives_s)
    assert ask(claude, **wanted).cache_creation_input_tokens == written


def test_writes_are_told_by_lifetime(claude: Any, at_rest: Served) -> None:
    """An hour for the system, five minutes for what follows."""
    message = {
        "role": "user",
        "content": [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}],
    }
    usage = ask(claude, system=system("1h"), messages=[message])
    assert usage.cache_creation.ephemeral_1h_input_tokens > 1_000
    assert usage.cache_creation.ephemeral_5m_input_tokens > 1_000
    both = usage.cache_creation.ephemeral_1h_input_tokens + usage.cache_creation.ephemeral_5m_input_tokens
    assert usage.cache_creation_input_tokens == both
    at_rest.advance(301)
    later = ask(claude, system=system("1h"), messages=[message])
    assert later.cache_read_input_tokens == usage.cache_creation.ephemeral_1h_input_tokens
    assert later.cache_creation_input_tokens == usage.cache_creation.ephemeral_5m_input_tokens


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5-5", 512),
        ("claude-sonnet-4-6", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-haiku-4-5", 4_096),
    ],
)
def test_below_the_models_least_size_nothing_is_cached(
    claude: Any, at_rest: Served, model: str, least: int
) -> None:
    """Silently: both fields are 0."""
    factor = 1.3 if model.endswith(("4-6", "4-5")) else 1.5
    short, enough = int(least * 3 / factor) - 60, int(least * 3 / factor) + 60
    for size, cached in ((short, False), (enough, True)):
        usage = ask(claude, model=model, system=system(text="x" * size))
        assert bool(usage.cache_creation_input_tokens) is cached
        assert usage.cache_read_input_tokens == 0


@pytest.mark.parametrize(
    ("change", "reads"),
    [
        ({}, "all"),
        ({"messages": [QUESTION, QUESTION]}, "system"),
        ({"system": system(text="Other. " + LONG)}, "tools"),
        ({"tools": [{"name": "other", "input_schema": {"type": "object"}}]}, "nothing"),
        ({"tool_choice": {"type": "none"}}, "system"),
        ({"thinking": {"type": "adaptive"}}, "system"),
        ({"speed": "fast"}, "tools"),
        ({"model": "claude-opus-5-1"}, "nothing"),
    ],
)
def test_a_change_spoils_its_own_level_and_all_later_ones(
    claude: Any, at_rest: Served, change: dict[str, Any], reads: str
) -> None:
    """In the order tools, system, messages."""
    mark = {"cache_control": {"type": "ephemeral"}}
    tool = {"name": "t", "description": LONG, "input_schema": {"type": "object"}, **mark}
    said = {"role": "user", "content": [{"type": "text", "text": LONG, **mark}]}
    wanted: dict[str, Any] = {"tools": [tool], "system": system(), "messages": [said]}
    changed = {**wanted, **change}
    if "tools" in change:
        changed["tools"] = [*change["tools"], tool]
    if "messages" in change:
        changed["messages"] = [QUESTION, said]
    written = ask(claude, **wanted).cache_creation_input_tokens
    read = ask(claude, **changed).cache_read_input_tokens
    third = written / 3
    expected = {"nothing": 0, "tools": third, "system": 2 * third, "all": written}[reads]
    assert read == pytest.approx(expected, abs=60)


def turns(number: int, ttl: str = "") -> list[Any]:
    """A conversation of so many blocks, the last one marked."""
    roles = ["user", "assistant"] * number
    made: list[Any] = [
        {"role": roles[at], "content": [{"type": "text", "text": f"Turn {at}. " + "word " * 60}]}
        for at in range(number)
    ]
    if ttl:
        made[-1]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    return made


@pytest.mark.parametrize(("further", "hit"), [(2, True), (20, True), (22, False)])
def test_a_breakpoint_looks_back_20_blocks(claude: Any, at_rest: Served, further: int, hit: bool) -> None:
    """What was written farther back is not found."""
    written = ask(claude, system="Brief.", messages=turns(31, "5m")).cache_creation_input_tokens
    read = ask(claude, system="Brief.", messages=turns(31 + further, "5m")).cache_read_input_tokens
    assert read == (written if hit else 0)


def test_a_run_of_results_is_one_step(claude: Any, at_rest: Served) -> None:
    """So parallel calls do not hide the last breakpoint."""

    def history(final: str) -> list[Any]:
        calls = [{"type": "tool_use", "id": f"t{at}", "name": "read", "input": {}} for at in range(30)]
        results: list[Any] = [
            {"type": "tool_result", "tool_use_id": f"t{at}", "content": "x"} for at in range(30)
        ]
        opening = {"role": "user", "content": [system()[0]]}
        if final == "opening":
            return [opening]
        results[-1]["cache_control"] = {"type": "ephemeral"}
        return [opening, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]

    written = ask(claude, system="Brief.", messages=history("opening")).cache_creation_input_tokens
    assert ask(claude, system="Brief.", messages=history("results")).cache_read_input_tokens == written


def test_an_automatic_mark_moves_with_the_conversation(claude: Any, at_rest: Served) -> None:
    """Each turn reads what the last one wrote."""
    automatic: dict[str, Any] = {"cache_control": {"type": "ephemeral"}, "system": "Brief."}
    before = ask(claude, messages=turns(21), **automatic)
    after = ask(claude, messages=turns(23), **automatic)
    assert before.cache_creation_input_tokens > 512
    assert after.cache_read_input_tokens == before.cache_creation_input_tokens
    assert after.input_tokens == 0


def test_a_compaction_reads_the_agents_cache(claude: Any, at_rest: Served) -> None:
    """And behind it, system and tools still hit."""
    said = turns(21, "5m")
    agent = ask(claude, messages=said)
    made = claude.beta.messages.create(
        model=MODEL,
        max_tokens=4_096,
        system=system(),
        messages=said,
        compaction={"type": "summarize"},
        betas=["compact-2026-09-04"],
    )
    assert made.usage.iterations is not None
    assert made.usage.iterations[0].cache_read_input_tokens == agent.cache_creation_input_tokens
    block = made.content[0].to_dict()
    later = claude.beta.messages.create(
        model=MODEL,
        max_tokens=50,
        system=system(),
        messages=[{"role": "assistant", "content": [block]}, QUESTION],
        betas=["compact-2026-09-04"],
    )
    assert later.usage.cache_read_input_tokens == ask(claude).cache_read_input_tokens > 1_000


def test_another_workspace_misses(claude: Any, at_rest: Served) -> None:
    """And two keys of one workspace share."""
    at_rest.play(Scenario(**still(keys={"sk-a": "one", "sk-b": "one", "sk-c": "two"})))
    written = ask(claude.with_options(api_key="sk-a")).cache_creation_input_tokens
    assert ask(claude.with_options(api_key="sk-b")).cache_read_input_tokens == written
    assert ask(claude.with_options(api_key="sk-c")).cache_read_input_tokens == 0


def test_the_order_of_fields_is_part_of_the_prefix(claude: Any, at_rest: Served) -> None:
    """The cache compares what is rendered."""
    tool = {"name": "t", "description": LONG, "input_schema": {"type": "object"}}
    turned = {"input_schema": {"type": "object"}, "description": LONG, "name": "t"}
    assert ask(claude, tools=[tool]).cache_creation_input_tokens
    assert ask(claude, tools=[turned]).cache_read_input_tokens == 0


def test_calls_side_by_side_all_write(claude: Any, at_rest: Served) -> None:
    """Nothing can be read before the first reply has begun."""
    at_rest.play(Scenario(**still(pace=Pace(first_byte_s=0.3))))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(ask(claude))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [usage.cache_read_input_tokens for usage in found] == [0, 0, 0]
    assert ask(claude).cache_read_input_tokens > 0


def test_a_refused_request_writes_nothing(claude: Any, at_rest: Served) -> None:
    """Neither does an overloaded one."""
    with pytest.raises(Exception, match="Overloaded"):
        ask(claude, extra_headers={"x-standin-fault": "overloaded"})
    assert ask(claude).cache_read_input_tokens == 0


@pytest.mark.parametrize(
    ("lies", "reads"),
    [
        (CacheLies(), [False, True, True, True]),
        (CacheLies(evict_every=3), [False, True, False, True]),
        (CacheLies(other_workspace=True), [False, False, False, False]),
        (CacheLies(concurrent_writer_s=60.0), [False, False, False, True]),
    ],
)
def test_the_cache_can_lie(claude: Any, at_rest: Served, lies: CacheLies, reads: list[bool]) -> None:
    """What is not read is billed as written again."""
    at_rest.play(Scenario(**still(cache=lies)))
    found = []
    for wait_s in (0, 10, 10, 61):
        at_rest.advance(wait_s)
        found.append(ask(claude))
    assert [bool(usage.cache_read_input_tokens) for usage in found] == reads
    assert [bool(usage.cache_creation_input_tokens) for usage in found] == [not read for read in reads]


def respond(gpt: Any, model: str = "gpt-6-sol", items: int = 20, **more: Any) -> Any:
    """Usage details of one Responses request of so many items."""
    given: Any = [{"role": "user", "content": f"Item {at}. " + "word " * 100} for at in range(items)]
    return gpt.responses.create(model=model, input=given, **more).usage


def test_openai_counts_reads_and_writes_within_its_input(gpt: Any, at_rest: Served) -> None:
    """From GPT-5.6 on writes are counted, by lifetime."""
    first, second = respond(gpt), respond(gpt, items=22)
    assert first.input_tokens_details.cache_write_tokens == first.input_tokens
    assert first.input_tokens_details.cache_write_tokens_details.ttl_30m_tokens == first.input_tokens
    assert second.input_tokens_details.cached_tokens == first.input_tokens
    new = second.input_tokens - first.input_tokens
    assert second.input_tokens_details.cache_write_tokens == new
    at_rest.advance(1_800)
    assert respond(gpt).input_tokens_details.cached_tokens == 0
    long = respond(gpt, prompt_cache_options={"ttl": "12h"}, prompt_cache_key="other")
    assert long.input_tokens_details.cache_write_tokens_details.ttl_12h_tokens == long.input_tokens


def test_older_models_write_for_nothing_and_read_in_steps(gpt: Any, at_rest: Served) -> None:
    """Of 128 tokens; any common beginning is found."""
    first = respond(gpt, "gpt-5.4")
    shorter = respond(gpt, "gpt-5.4", items=15)
    assert first.input_tokens_details.cache_write_tokens == 0
    assert shorter.input_tokens_details.cached_tokens > 1_024
    assert shorter.input_tokens_details.cached_tokens % 128 == 0


def test_short_prompts_are_not_cached(gpt: Any, at_rest: Served) -> None:
    """1,024 tokens are the least."""
    for _ in range(2):
        details = respond(gpt, items=3).input_tokens_details
        assert (details.cached_tokens, details.cache_write_tokens) == (0, 0)


def test_a_cache_key_divides(gpt: Any, at_rest: Served) -> None:
    """The same prefix under another key is written again."""
    respond(gpt, prompt_cache_key="a")
    assert respond(gpt, prompt_cache_key="b").input_tokens_details.cached_tokens == 0
    assert respond(gpt, prompt_cache_key="a").input_tokens_details.cached_tokens > 0


def test_in_explicit_mode_only_marked_parts_are_written(gpt: Any, at_rest: Served) -> None:
    """None marked, none written."""
    explicit: dict[str, Any] = {"prompt_cache_options": {"mode": "explicit"}}
    assert respond(gpt, **explicit).input_tokens_details.cache_write_tokens == 0
    part = {"type": "input_text", "text": "word " * 2_000, "prompt_cache_breakpoint": {"mode": "explicit"}}
    given: Any = [{"role": "user", "content": [part]}, {"role": "user", "content": "Go on."}]
    usage: Any = gpt.responses.create(model="gpt-6-sol", input=given, **explicit).usage
    assert 0 < usage.input_tokens_details.cache_write_tokens < usage.input_tokens


def test_chat_reports_the_same_cache(gpt: Any, at_rest: Served) -> None:
    """In its own fields."""
    messages: Any = [{"role": "user", "content": "word " * 2_000}]
    first: Any = gpt.chat.completions.create(model="gpt-6-sol", messages=messages).usage
    second: Any = gpt.chat.completions.create(model="gpt-6-sol", messages=messages).usage
    assert first.prompt_tokens_details.cache_write_tokens == first.prompt_tokens
    assert second.prompt_tokens_details.cached_tokens == second.prompt_tokens


def test_a_models_least_size_can_be_set(claude: Any, at_rest: Served) -> None:
    """So small tests can have a cache too."""
    at_rest.play(Scenario(**still(models={MODEL: ModelRow(cache_min_tokens=1)})))
    assert ask(claude, system=system(text="Short.")).cache_creation_input_tokens > 0
