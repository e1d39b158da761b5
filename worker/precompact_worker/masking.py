"""Masking secrets before a transcript leaves: the patterns of `detect-secrets`, and those of this trade it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from detect_secrets.plugins import (
    artifactory,
    aws,
    azure_storage_key,
    basic_auth,
    cloudant,
    discord,
    github_token,
    gitlab_token,
    ibm_cloud_iam,
    ibm_cos_hmac,
    jwt,
    mailchimp,
    npm,
    openai,
    private_key,
    pypi_token,
    sendgrid,
    slack,
    softlayer,
    square_oauth,
    stripe,
    telegram_token,
    twilio,
)
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.keyword import KeywordDetector

_MODULES = (
    artifactory,
    aws,
    azure_storage_key,
    basic_auth,
    cloudant,
    discord,
    github_token,
    gitlab_token,
    ibm_cloud_iam,
    ibm_cos_hmac,
    jwt,
    mailchimp,
    npm,
    openai,
    private_key,
    pypi_token,
    sendgrid,
    slack,
    softlayer,
    square_oauth,
    stripe,
    telegram_token,
    twilio,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL
)
_OWN = (
    ("Anthropic key", re.compile(r"\bsk-ant-[\w-]{16,}")),
    ("API key", re.compile(r"\bsk-[\w-]{20,}")),
    ("precompact key", re.compile(r"\bpck_[\w-]{16,}")),
    ("Google API key", re.compile(r"\bAIza[\w-]{30,}")),
    ("bearer token", re.compile(r"(?i)\bbearer\s+[\w.~+/=-]{16,}")),
)
_NAMED = re.compile(r"(?i)pass(?:word|wd|phrase)?\b|pwd|secret|api_?key|token|private_?key|credential")
_LONGEST_LINE = 2_000
_TOKEN_EDGE = re.compile(r"[\s\"'`<>(),;]")


def mask(text: str) -> str:
    """The text with each secret that was found replaced by its kind in brackets. The same text gives the same result.

    Known forms of keys, tokens and private keys, passwords in URLs, and values behind names like `password =`. No
    entropy: hashes and ids of a conversation are what a summary is about.
    """
    text = _PRIVATE_KEY.sub("[secret: Private Key]", text)
    for kind, pattern in _patterns():
        text = _replace(text, kind, pattern)
    if _NAMED.search(text) is None:
        return text
    return "\n".join(map(_mask_named, text.split("\n")))


def _replace(text: str, kind: str, pattern: re.Pattern[str]) -> str:
    pieces: list[str] = []
    done = 0
    for found in pattern.finditer(text):
        start, stop = found.span()
        if start < done or stop == start:
            continue
        stop = _end_of_token(text, stop)
        pieces += (text[done:start], f"[secret: {kind}]")
        done = stop
    return "".join((*pieces, text[done:])) if pieces else text


def _end_of_token(text: str, stop: int) -> int:
    """Some patterns stop inside the token they have recognised."""
    edge = _TOKEN_EDGE.search(text, stop)
    return edge.start() if edge else len(text)


def _mask_named(line: str) -> str:
    if len(line) > _LONGEST_LINE or _NAMED.search(line) is None:
        return line
    for value in _named_values(line):
        line = line.replace(value, "[secret: named]")
    return line


def _named_values(line: str) -> Iterable[str]:
    found = _keywords().analyze_string(line)
    return sorted((value for value in found if len(value) > 3), key=len, reverse=True)


@cache
def _keywords() -> KeywordDetector:
    return KeywordDetector()


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return (*_OWN, *_shipped())


def _shipped() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in _MODULES:
        for found in vars(module).values():
            if not isinstance(found, type) or not issubclass(found, RegexBasedDetector):
                continue
            if found is RegexBasedDetector or found.__module__ != module.__name__:
                continue
            detector = found()
            yield from ((detector.secret_type, pattern) for pattern in detector.denylist)
