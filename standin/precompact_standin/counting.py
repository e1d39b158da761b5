"""Counting tokens: tiktoken's o200k where the rank file is given, else UTF-8 bytes / 3; times the model's factor."""

from __future__ import annotations

import base64
import gzip
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path

import tiktoken

PIECE_CHARS = 100_000
"""A tokenizer panics over a million blanks in a row and crawls over as many letters; so text goes in pieces."""
REMEMBERED_TEXTS = 50_000

_LETTERS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
)
_OTHERS = r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


class Counter:
    """Counts texts and remembers the counts of the newest ones, for a prompt comes again with every turn."""

    def __init__(self, ranks: Path | None = None) -> None:
        self._count: Callable[[str], int] = count_bytes if ranks is None else _tokenizer(ranks)
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def text(self, text: str, factor: float = 1.0) -> int:
        """Tokens of `text` for a model with that factor; 1 or more unless the text is empty."""
        return -int(-self._plain(text) * factor // 1) if text else 0

    def texts(self, texts: Iterable[str], factor: float = 1.0) -> int:
        """Tokens of all of them together."""
        return sum(self.text(text, factor) for text in texts)

    def _plain(self, text: str) -> int:
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (known := self._known.get(key)) is not None:
            return known
        count = sum(self._count(piece) for piece in _pieces(text))
        self._known[key] = count
        if len(self._known) > REMEMBERED_TEXTS:
            self._known.popitem(last=False)
        return count


def count_bytes(text: str) -> int:
    """A third of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


def _tokenizer(ranks: Path) -> Callable[[str], int]:
    content = ranks.read_bytes()
    lines = (gzip.decompress(content) if ranks.suffix == ".gz" else content).splitlines()
    table = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    encoding = tiktoken.Encoding(
        "standin_o200k", pat_str=_LETTERS + _OTHERS, mergeable_ranks=table, special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


def _pieces(text: str) -> Iterable[str]:
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
