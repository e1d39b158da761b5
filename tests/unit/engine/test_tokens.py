"""Tokens are counted without the network, in bounded time, and never for base64."""

from __future__ import annotations

import gzip
import socket
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from precompact_shared.engine import tokenizer
from precompact_shared.engine.tokens import (
    DOCUMENT_TOKENS,
    IMAGE_TOKENS,
    count_message,
    count_text,
    family_factor,
    warm_up,
)
from precompact_shared.engine.types import Format, Message
from tests.support.recordings import needs_recordings, recordings

CHAT = Format.OPENAI_CHAT
PROSE = "The quick brown fox jumps over the lazy dog, and 12,345 others follow.\n不要修改配置文件。 def f(x): return x\n"


@pytest.fixture
def fresh() -> Any:
    """The encoding is loaded anew inside the test and after it."""
    tokenizer._encoding.cache_clear()
    yield
    tokenizer._encoding.cache_clear()


def test_the_network_is_not_needed(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rank file comes out of the package."""

    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert warm_up()
    assert count_text("hello world") == 2


def test_the_counts_are_those_of_the_published_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same pattern, same ranks: tiktoken takes the file by its own pinned hash."""
    packed = files("precompact_shared").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(gzip.decompress(packed))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    published = tiktoken.get_encoding("o200k_base")
    ours = tokenizer._encoding()
    assert ours is not None
    assert published._pat_str == tokenizer._O200K_PATTERN
    assert ours.encode_ordinary(PROSE) == published.encode_ordinary(PROSE)
    assert ours.n_vocab == published.n_vocab


@given(st.text() | st.text(alphabet=" \t\n\r\u00a0aA1é汉.,/'s{}", max_size=60))
def test_the_grouped_pattern_parts_text_as_the_published_one(text: str) -> None:
    """White space of every kind before words, numbers, marks and ends above all."""
    ours, published = _patterned(tokenizer._GROUPED_PATTERN), _patterned(tokenizer._O200K_PATTERN)
    assert ours.encode_ordinary(text) == published.encode_ordinary(text)


@cache
def _patterned(pattern: str) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "test", pat_str=pattern, mergeable_ranks=tokenizer._read_ranks(), special_tokens={}
    )


def test_without_the_file_bytes_are_counted(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the bytes, rounded up; nothing fails."""

    def fail() -> dict[bytes, int]:
        raise OSError

    monkeypatch.setattr(tokenizer, "_read_ranks", fail)
    assert not warm_up()
    assert (count_text("abcd"), count_text("汉"), count_text("")) == (2, 1, 0)


def test_a_damaged_file_is_noticed(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash is checked, and counting goes on by bytes."""
    monkeypatch.setattr(tokenizer, "_RANKS_SHA256", "0" * 64)
    assert not warm_up()


@pytest.mark.parametrize("run", [" ", "\n", "a", "A", "!", "1", "汉", "😀", "\u00a0", " \t", "a\u0301"])
def test_a_million_characters_of_one_kind_do_no_harm(run: str) -> None:
    """Unbroken runs are where tokenizers panic or crawl."""
    assert 0 < count_text(run * (1_000_000 // len(run))) <= 1_000_000


def test_special_tokens_and_lone_surrogates_are_text() -> None:
    """A user may write them."""
    assert count_text("<|endoftext|>") > 1
    assert count_text("\ud800") > 0


@given(st.text(max_size=200), st.lists(st.sampled_from(PROSE.split()), min_size=8, max_size=20))
def test_more_words_are_more_tokens(text: str, words: list[str]) -> None:
    """Joined by spaces, so that no word merges into the one before."""
    assert count_text(text) < count_text(f"{text} {' '.join(words)}")


@pytest.mark.recordings
@needs_recordings()
def test_pieces_change_the_count_by_less_than_a_thousandth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the count of the whole text at once."""
    whole = "\n".join(str(recording.load()["messages"]) for recording in recordings()[:12])[:900_000]
    encoding = tokenizer._encoding()
    assert encoding is not None
    exact = len(encoding.encode_ordinary(whole))
    for size in (10_000, 50_000, 100_000):
        monkeypatch.setattr(tokenizer, "PIECE_CHARS", size)
        assert abs(count_text(whole) - exact) <= exact / 1_000


def test_of_very_long_text_what_lies_behind_is_sampled_and_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within two per cent, for text whose kind changes on the way."""
    text = PROSE * 9_000 + "0123456789abcdef" * 70_000 + "word " * 60_000
    exact = count_text(text)
    monkeypatch.setattr(tokenizer, "SAMPLE_ABOVE_CHARS", 300_000)
    assert len(text) > 300_000 + tokenizer.SAMPLED_PIECES * tokenizer.SAMPLED_PIECE_CHARS
    assert count_text(text) != exact
    assert count_text(text) == pytest.approx(exact, rel=0.02)


def test_a_little_more_text_is_never_less_where_sampling_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was counted up to there stays counted."""
    text = "汉字" * 60_000 + PROSE * 1_000
    monkeypatch.setattr(tokenizer, "SAMPLE_ABOVE_CHARS", 120_000)
    monkeypatch.setattr(tokenizer, "SAMPLED_PIECES", 4)
    monkeypatch.setattr(tokenizer, "SAMPLED_PIECE_CHARS", 1_000)
    lengths = [110_000, 119_999, 120_000, 120_001, 123_999, 124_000, 124_001, 130_000, len(text)]
    counts = [count_text(text[:length]) for length in lengths]
    assert counts == sorted(counts)


def test_up_to_five_million_characters_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole is the sum of its lines."""
    monkeypatch.setattr(tokenizer, "_samples", None)
    text = (PROSE * (5_000_000 // len(PROSE) + 1))[:5_000_000]
    rest = text[len(text) // len(PROSE) * len(PROSE) :]
    exact = count_text(PROSE) * (len(text) // len(PROSE)) + count_text(rest)
    assert count_text(text) == pytest.approx(exact, rel=0.001)


def test_a_long_run_of_one_letter_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pieces are all alike: megabytes of it take no longer than one piece."""
    counted: list[str] = []
    count = tokenizer._count_piece

    def noted(piece: str) -> int:
        counted.append(piece)
        return count(piece)

    monkeypatch.setattr(tokenizer, "_count_piece", noted)
    assert count_text("a" * 5_000_000) == 625_000
    assert [len(piece) for piece in counted if piece] == [tokenizer.PIECE_CHARS]


@given(st.text(max_size=50))
def test_both_shapes_of_content_cost_the_same(text: str) -> None:
    """A string, or one text part."""
    parts = {"role": "user", "content": [{"type": "text", "text": text}]}
    assert count_message(CHAT, {"role": "user", "content": text}, None) == count_message(CHAT, parts, None)


def part_cost(wire: Format, part: Message) -> int:
    """What one part costs for a model that counts as o200k does."""
    return count_message(wire, {"role": "user", "content": [part]}, "gpt-5")


BLOB = "QUJD" * 100_000
CALL_TOKENS = 25
"""Of GPT."""


@pytest.mark.parametrize(
    ("wire", "part", "expected"),
    [
        (Format.ANTHROPIC, {"type": "image", "source": {"type": "base64", "data": BLOB}}, IMAGE_TOKENS),
        (Format.ANTHROPIC, {"type": "document", "source": {"type": "base64", "data": BLOB}}, DOCUMENT_TOKENS),
        (Format.OPENAI_CHAT, {"type": "image_url", "image_url": {"url": BLOB}}, IMAGE_TOKENS),
        (Format.OPENAI_RESPONSES, {"type": "input_image", "image_url": BLOB}, IMAGE_TOKENS),
        (Format.OPENAI_RESPONSES, {"type": "input_file", "file_data": BLOB}, DOCUMENT_TOKENS),
        (Format.OPENAI_CHAT, {"type": "input_audio", "input_audio": {"data": BLOB}}, IMAGE_TOKENS),
        (Format.OPENAI_CHAT, {"type": "hologram", "data": BLOB}, IMAGE_TOKENS),
    ],
)
def test_base64_is_never_counted_as_text(wire: Format, part: Message, expected: int) -> None:
    """A flat rate each."""
    assert part_cost(wire, part) == expected


def test_images_inside_results_and_plain_documents_are_seen() -> None:
    """A picture in a tool result; a document that is text counts as text."""
    image = {"type": "image", "source": {"type": "base64", "data": BLOB}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [image, {"type": "text", "text": "hello world"}],
    }
    assert part_cost(Format.ANTHROPIC, result) == IMAGE_TOKENS + 2
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "hello world"},
    }
    assert part_cost(Format.ANTHROPIC, document) == 2


def test_names_and_arguments_are_counted_and_ids_are_not() -> None:
    """As JSON text where the arguments are an object; a call with its result costs a flat rate besides."""
    call = {"type": "tool_use", "id": "toolu_0123456789", "name": "Bash", "input": {"command": "ls -la"}}
    said = {"role": "assistant", "content": [call]}
    expected = count_text("Bash") + count_text('{"command":"ls -la"}') + CALL_TOKENS
    assert count_message(Format.ANTHROPIC, said, "gpt-5") == expected
    function = {
        "id": "c1",
        "type": "function",
        "function": {"name": "Bash", "arguments": '{"command":"ls -la"}'},
    }
    assert (
        count_message(CHAT, {"role": "assistant", "content": None, "tool_calls": [function]}, None)
        == expected
    )


def test_encrypted_reasoning_costs_something_but_not_as_text() -> None:
    """About six characters to a token, behind a frame of 900."""
    item = {"type": "reasoning", "summary": [], "encrypted_content": "A" * 16_000}
    assert count_message(Format.OPENAI_RESPONSES, item, "gpt-5") == (16_000 - 900) // 6


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("claude-3-5-sonnet-20241022", 1.3),
        ("claude-opus-4-20250514", 1.3),
        ("claude-sonnet-4.6", 1.3),
        ("us.anthropic.claude-opus-4-6-v1:0", 1.3),
        ("claude-instant-1.2", 1.3),
        ("claude-opus-4-7", 1.5),
        ("Claude-Opus-4-8", 1.5),
        ("claude-fable-5", 1.5),
        ("claude-opus-5-5-20261010", 1.5),
        ("claude-mythos-preview", 1.5),
        ("gpt-5.5", 1.0),
        ("gemini-2.5-flash", 1.0),
        (None, 1.0),
    ],
)
def test_newer_claude_models_make_more_tokens(model: str | None, factor: float) -> None:
    """From 4.7 on; other vendors count as o200k does."""
    assert family_factor(model) == factor


def test_an_anthropic_message_of_no_model_is_counted_for_the_newest() -> None:
    """Too many is safer than too few."""
    message = {"role": "user", "content": PROSE}
    newest = count_message(Format.ANTHROPIC, message, "claude-opus-5-5")
    assert count_message(Format.ANTHROPIC, message, None) == newest
    assert count_message(Format.ANTHROPIC, message, "claude-opus-4-6") < newest
