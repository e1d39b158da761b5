"""Counting tokens of text without the network: o200k from a rank file in the package."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files

import tiktoken

IMAGE_TOKENS = 1_600
DOCUMENT_TOKENS = 2_500
"""One page; how many pages a document has is not known here."""

PIECE_CHARS = 100_000
"""Longer runs of white space make the tokenizer panic, longer runs of letters make it slow."""
SAMPLE_ABOVE_CHARS = 5_000_000
SAMPLED_PIECES = 40
SAMPLED_PIECE_CHARS = 25_000

_RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_SPECIAL_TOKENS = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORDS_AND_LINES = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
    )
)
_SPACES = r"\s+(?!\S)|\s+"
_O200K_PATTERN = f"{_WORDS_AND_LINES}|{_SPACES}"
"""As published."""
_GROUPED_PATTERN = f"(?:{_WORDS_AND_LINES})|{_SPACES}"
"""The same, a fifth faster: what needs no look ahead is matched by one automaton."""

_CLAUDE_VERSION = re.compile(r"claude\D*?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_NEWER_CLAUDE, _OLDER_CLAUDE, _OTHER = 1.5, 1.3, 1.0
_NEWER_SINCE = (4, 7)


def warm_up() -> bool:
    """Load the rank file (about half a second, once per process); False means counts are bytes / 3."""
    return _encoding() is not None


def count_text(text: str) -> int:
    """Tokens of `text` in o200k.

    What lies behind the first 5 million characters is sampled at even distances. Without the rank file: UTF-8 bytes / 3,
    rounded up.
    """
    if len(text) <= PIECE_CHARS:
        return _count_piece(text)
    exact = _count_pieces(_pieces(text[:SAMPLE_ABOVE_CHARS]))
    rest = text[SAMPLE_ABOVE_CHARS:]
    sampled = SAMPLED_PIECES * SAMPLED_PIECE_CHARS
    if len(rest) <= sampled:
        return exact + _count_pieces(_pieces(rest))
    return exact + round(_count_pieces(_samples(rest)) * len(rest) / sampled)


@lru_cache(maxsize=512)
def family_factor(model: str | None) -> float:
    """How many tokens the model's own tokenizer makes of one of o200k: 1.5 Claude from 4.7 on, 1.3 older, else 1."""
    if model is None or "claude" not in model.lower():
        return _OTHER
    found = _CLAUDE_VERSION.search(model.lower())
    if found is None:
        return _NEWER_CLAUDE
    version = (int(found[1]), int(found[2] or 0))
    return _NEWER_CLAUDE if version >= _NEWER_SINCE else _OLDER_CLAUDE


def _count_pieces(pieces: Iterable[str]) -> int:
    """Each different one once: what is slowest to count, one character millions of times, is all alike."""
    return sum(times * _count_piece(piece) for piece, times in Counter(pieces).items())


def _count_piece(piece: str) -> int:
    encoding = _encoding()
    if encoding is None:
        return -(-len(piece.encode("utf-8", "surrogatepass")) // 3)
    return len(encoding.encode_ordinary(piece))


def _pieces(text: str) -> Iterator[str]:
    """Cut long text behind a line's end where one is near: there a token ends anyway."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        limit = start + PIECE_CHARS
        end = text.rfind("\n", limit - 2_000, limit) + 1 or limit
        yield text[start:end]
        start = end
    yield text[start:]


def _samples(text: str) -> Iterator[str]:
    last = len(text) - SAMPLED_PIECE_CHARS
    for index in range(SAMPLED_PIECES):
        start = index * last // (SAMPLED_PIECES - 1)
        yield text[start : start + SAMPLED_PIECE_CHARS]


@lru_cache(maxsize=1)
def _encoding() -> tiktoken.Encoding | None:
    try:
        return tiktoken.Encoding(
            "o200k_base",
            pat_str=_GROUPED_PATTERN,
            mergeable_ranks=_read_ranks(),
            special_tokens=_SPECIAL_TOKENS,
        )
    except (OSError, ValueError, EOFError):
        return None


def _read_ranks() -> dict[bytes, int]:
    packed = files("precompact_shared").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    lines = gzip.decompress(packed)
    if hashlib.sha256(lines).hexdigest() != _RANKS_SHA256:
        raise ValueError("the rank file in the package is damaged: install precompact again")
    pairs = (line.split() for line in lines.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
