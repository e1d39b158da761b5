"""Usage by each provider's own convention."""

from __future__ import annotations

from precompact_shared.engine.usage import Usage, anthropic_usage, chat_usage, responses_usage


def test_anthropic_counts_the_uncached_part_alone() -> None:
    """The three input fields together are the prompt."""
    told = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 40,
    }
    assert anthropic_usage(told) == Usage(10, 3000, 200, 40)
    assert anthropic_usage(told).prompt_tokens == 3210


def test_what_is_kept_for_an_hour_is_part_of_what_was_written() -> None:
    """It costs more; a server that tells more of it than was written is not believed."""
    lives = {"ephemeral_5m_input_tokens": 150, "ephemeral_1h_input_tokens": 50}
    told = {"cache_creation_input_tokens": 200, "cache_creation": lives, "output_tokens": 1}
    found = anthropic_usage(told)
    assert (found.cache_write_tokens, found.cache_write_hour_tokens, found.prompt_tokens) == (200, 50, 200)
    assert (found + found).cache_write_hour_tokens == 100
    assert anthropic_usage(told | {"cache_creation_input_tokens": 20}).cache_write_hour_tokens == 20
    assert anthropic_usage(told | {"cache_creation": None}) == Usage(0, 0, 200, 1)


def test_a_compaction_is_billed_by_its_iterations() -> None:
    """The top level says 0."""
    iterations = [
        {"type": "compaction", "input_tokens": 900, "output_tokens": 310, "cache_read_input_tokens": 41000},
        {"type": "message", "input_tokens": 5, "output_tokens": 7, "cache_creation_input_tokens": 2},
    ]
    told = {"input_tokens": 0, "output_tokens": 0, "iterations": iterations}
    assert anthropic_usage(told) == Usage(905, 41000, 2, 317)


def test_openai_includes_what_was_cached() -> None:
    """Responses and Chat Completions alike, under other names."""
    details = {"cached_tokens": 700, "cache_write_tokens": 100}
    told = {"input_tokens": 1000, "input_tokens_details": details, "output_tokens": 9}
    assert responses_usage(told) == Usage(200, 700, 100, 9)
    chat = {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 700}, "completion_tokens": 9}
    assert chat_usage(chat) == Usage(300, 700, 0, 9)


def test_nonsense_counts_nothing() -> None:
    """Compatible servers leave fields out, send null, or lie."""
    assert anthropic_usage(None) == Usage()
    assert chat_usage({"prompt_tokens": None, "prompt_tokens_details": None}) == Usage()
    assert responses_usage({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 50}}) == Usage(0, 5)
    assert anthropic_usage({"input_tokens": -3, "output_tokens": True}) == Usage()
