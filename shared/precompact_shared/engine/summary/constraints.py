"""Standing constraints: sentences of the user that stay true after the request they came with is done."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_SENTENCE = 400
_SHORTEST_SENTENCE = 6
_MOST_PER_MESSAGE = 40

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\s]+|(?<=[。！？；])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")

# In English the words stand at the start of a clause or behind a modal: "it always fails" is no constraint.
_START = r"(?:^|[,;:(—–-]\s*|\b(?:and|but|or|so|then|please|pls|should|shall|must|to|will|you)\s+)"
_ENGLISH = re.compile(
    rf"{_START}(?:always|never|(?:do not|don['’]?t|dont)(?! (?:you|we|i|they|have to|need to|know|remember|think)\b)"
    r"|make sure|ensure|avoid|only (?:use|ever|touch|change|edit|write|run))\b"
    r"|\b(?:must|must not|mustn['’]?t|should not|shouldn['’]?t|has to stay|have to stay|not allowed|forbidden"
    r"|from now on|under no circumstances|at all times|no longer (?:use|touch))\b",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"\b(?:immer|niemals|nie|muss|müssen|musst|darf|dürfen|nicht mehr|keinesfalls|stets|ab jetzt|unbedingt)\b"
    r"|(?:^|\bbitte\b.*|,\s*)\bnicht(?:s)?\b|\b(?:soll|sollst|sollen|kein|keine|keinen)\b.*\b(?:werden|verwenden|ändern)\b",
    re.IGNORECASE,
)
_ROMANCE = re.compile(
    r"\b(?:nunca|siempre|debes?|no debes?|jamais|toujours|il faut|ne doit pas|tu dois|non devi|devi sempre|sempre)\b",
    re.IGNORECASE,
)
_CJK = re.compile(
    r"必须|必須|不要|不能|不得|不许|不可|禁止|务必|務必|一定要|始终|總是|总是|永远|只能|别(?!的|人|处)|請勿|请勿"
    r"|必ず|常に|しないで|してはいけ|禁じ|반드시|항상|절대|하지\s?마|금지"
)
_PATTERNS = (_ENGLISH, _GERMAN, _ROMANCE, _CJK)


def constraints_in(text: str) -> Iterator[str]:
    """The sentences that say what always, never, must or must not be; code, questions and long log lines left out."""
    found = 0
    for sentence in _SENTENCE_END.split(_FENCED.sub("", text)):
        plain = _BULLET.sub("", sentence).strip()
        if found < _MOST_PER_MESSAGE and _is_constraint(plain):
            found += 1
            yield plain


def _is_constraint(sentence: str) -> bool:
    if not _SHORTEST_SENTENCE <= len(sentence) <= _LONGEST_SENTENCE and not _is_short_cjk(sentence):
        return False
    if sentence.endswith(("?", "？")):
        return False
    return any(pattern.search(sentence) for pattern in _PATTERNS)


def _is_short_cjk(sentence: str) -> bool:
    return 2 < len(sentence) < _SHORTEST_SENTENCE and not sentence.isascii()
