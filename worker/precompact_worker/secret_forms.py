"""What secrets look like by themselves, whatever they are called: `detect-secrets`' patterns, and those it lacks.

Every pattern here takes time linear in the text: a run of characters is either taken whole, or too short to matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from detect_secrets.plugins.base import RegexBasedDetector

_SHIPPED = (
    *("aws", "azure_storage_key", "discord", "github_token", "gitlab_token", "mailchimp", "pypi_token"),
    *("sendgrid", "slack", "square_oauth", "stripe", "telegram_token", "twilio"),
)
"""Modules of `detect_secrets.plugins`. Not among them: those whose patterns take quadratic time (JWT, npm, OpenAI, all for values behind a name) or find words."""
_EDGE = re.compile(r"[\s\"'`<>(),;\\&|\[\]{}]")
_BEFORE = re.compile(r"(?:^|[^A-Za-z0-9_-]|\\[nrt]|%[0-9A-F]{2}|\d[mGK])\Z")
"""Where a token may begin: also behind a line break as JSON writes it, an escape of a URL's, a terminal's colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretForm:
    """A kind of secret; what is masked is the group `s`, or all."""

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()
    """One of them stands in every text that holds one; none: it has to be looked for. In lower case if `any_case`."""
    any_case: bool = False
    """The pattern is for the text in lower case."""
    starts: bool = False
    """Nothing that could belong to it stands in front."""
    has_digit: bool = False
    """What has no digit is a word."""
    to_edge: bool = False
    """The pattern may stop inside the token it has recognised."""


def mask_forms(text: str, found: list[str]) -> str:
    """The text with every secret of a known form replaced by its kind in brackets, and added to `found`. O(characters)."""
    low = lowered(text)
    for form in forms():
        searched = low if form.any_case else text
        if form.hints and not any(hint in searched for hint in form.hints):
            continue
        masked = _replace(text, searched, form, found)
        if masked is not text:
            text, low = masked, lowered(masked)
    return text


def lowered(text: str) -> str:
    """In lower case, each character where it was."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one.lower() if one.isascii() else one for one in text)


def _replace(text: str, searched: str, form: SecretForm, found: list[str]) -> str:
    pieces: list[str] = []
    done = 0
    for match in form.pattern.finditer(searched):
        start, stop = match.span("s" if form.pattern.groupindex else 0)
        if start < done or not _is_one(text, start, stop, form):
            continue
        if form.to_edge:
            edge = _EDGE.search(text, stop)
            stop = edge.start() if edge else len(text)
        found.append(text[start:stop])
        pieces += (text[done:start], f"[secret: {form.kind}]")
        done = stop
    return "".join((*pieces, text[done:])) if pieces else text


def _is_one(text: str, start: int, stop: int, form: SecretForm) -> bool:
    if form.has_digit and not any(map(str.isdigit, text[start:stop])):
        return False
    return not form.starts or _BEFORE.search(text[max(0, start - 3) : start]) is not None


@cache
def forms() -> tuple[SecretForm, ...]:
    """In the order they are looked for."""
    return (*_own(), *_shipped())


def _shipped() -> Iterator[SecretForm]:
    for name in _SHIPPED:
        module = import_module(f"detect_secrets.plugins.{name}")
        for found in vars(module).values():
            if not isinstance(found, type) or not issubclass(found, RegexBasedDetector):
                continue
            if found is RegexBasedDetector or found.__module__ != module.__name__:
                continue
            detector = found()
            for pattern in detector.denylist:
                yield SecretForm(kind=detector.secret_type, pattern=pattern, has_digit=True, to_edge=True)


def _own() -> Iterator[SecretForm]:
    for kind, hints, pattern in _ANYWHERE:
        yield SecretForm(kind=kind, pattern=re.compile(pattern), hints=hints)
    for kind, hints, pattern in _AT_A_START:
        yield SecretForm(kind=kind, pattern=re.compile(pattern), hints=hints, starts=True)
    for kind, hints, pattern in _WITH_A_DIGIT:
        yield SecretForm(kind=kind, pattern=re.compile(pattern), hints=hints, any_case=True, has_digit=True)
    for kind, hints, pattern in _SPOKEN:
        yield SecretForm(kind=kind, pattern=re.compile(pattern), hints=hints, any_case=True)


_VENDORS = (
    "dckr_pat_", "glsa_", "glc_", "lin_api_", "figd_", "rubygems_", "sntrys_", "sntryu_", "dop_v1_",
    "doo_v1_", "dor_v1_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "lsv2_pt_", "lsv2_sk_", "shpat_",
    "shpss_", "shpca_", "shppa_", "sb_secret_", "CCIPAT_", "HRKU-", "NRAK-", "PMAK-", "nvapi-", "ATATT3",
    "ATBB", "AGE-SECRET-KEY-1", "AKCp", "cmVmdGtu",
)  # fmt: skip
_SHORT_VENDORS = (
    "hf_", "gsk_", "r8_", "ntn_", "sbp_", "nfp_", "phx_", "tgp_v1_", "fm2_", "fw_", "napi_", "rpa_",
    "bkua_", "ops_", "secret_", "xai-", "pplx-", "tvly-", "pul-", "dapi", "hvs.", "hvb.", "hvr.", "key-",
)  # fmt: skip


def _one_of(prefixes: tuple[str, ...]) -> str:
    return "(?:" + "|".join(map(re.escape, prefixes)) + ")"


_SCHEME = r"(?:bearer|basic|token|digest|bot|apikey|ssws|key)\s{1,3}"
_Row = tuple[str, tuple[str, ...], str]
_ANYWHERE: tuple[_Row, ...] = (
    ("Anthropic key", ("sk-ant-",), r"sk-ant-[\w-]{16,}"),
    ("precompact key", ("pck_",), r"pck_[\w-]{16,}"),
    (
        "AWS secret key",
        ("AKIA", "ASIA"),
        r"A[KS]IA[0-9A-Z]{16}[\s,;:|\"']{1,8}(?P<s>[0-9A-Za-z/+]{40})(?![0-9A-Za-z/+])",
    ),
    ("Google API key", ("AIza",), r"AIza[\w-]{30,}"),
    ("Google token", ("ya29.",), r"ya29\.[\w.-]{20,}"),
    ("Google token", ("GOCSPX-",), r"GOCSPX-[\w-]{20,}"),
    ("Google token", ("1//0",), r"1//0[\w-]{30,}"),
    ("GitHub Token", ("github_pat_",), r"github_pat_\w{22,}"),
    ("GitHub Token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("Slack Token", ("xox",), r"xox[a-z](?:\.xox[a-z])?-[\w-]{20,}"),
    ("Slack Token", ("xapp-",), r"xapp-\d-[\w-]{20,}"),
    ("webhook", ("/api/webhooks/",), r"/api/webhooks/\d{5,30}/(?P<s>[\w-]{20,})"),
    (
        "payment key",
        ("k_live_", "k_test_", "whsec_"),
        r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/]{16,}={0,2}",
    ),
    (
        "JSON Web Token",
        ("eyJ",),
        r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ))[\w-]{8,}+={0,2}\.[\w-]{10,}+(?:\.[\w-]*+)*",
    ),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36,}"),
    (
        "npm token",
        (":_auth", ":_password"),
        r":_(?:authToken|auth|password)\s{0,2}=\s{0,2}(?P<s>[^\s\"'\\]{8,})",
    ),
    ("Azure secret", ("Q~",), r"[\w~.-]{3}\dQ~[\w~.-]{31,}"),
    ("private key", ("LS0tLS1CRUdJTiB",), r"LS0tLS1CRUdJTiB(?!DRVJU|QVUJMSUM)[A-Za-z0-9+/]{20,}={0,2}"),
    ("access token", _VENDORS, _one_of(_VENDORS) + r"[\w+/=-]{20,}"),
    ("access token", (".atlasv1.",), r"\.atlasv1\.(?P<s>[\w-]{40,})"),
    (
        "URL password",
        ("://",),
        r"://[^\s/:@\"'`<>\\]{0,128}:(?!\d{1,5}[/?#])(?P<s>(?![$<{%\[])[^\s/\"'`<>\\]{1,256})@(?=[\w.\[$%{-])",
    ),
    (
        "password",
        (":54", ":6432:", ":*:"),
        r":(?:54\d\d|6432|\*):[A-Za-z_*][^:\s]{0,64}:[^:\s]{1,64}:(?P<s>(?![\[:])[^\s:\"'\\]{3,})(?![:\w])",
    ),
)
_AT_A_START: tuple[_Row, ...] = (
    ("access token", _SHORT_VENDORS, _one_of(_SHORT_VENDORS) + r"[A-Za-z0-9+/=]{24,}[\w+/=-]*"),
    ("access token", ("dp.",), r"dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{20,}"),
)
_WITH_A_DIGIT: tuple[_Row, ...] = (
    ("API key", ("sk-",), r"(?<![a-z0-9_-])sk-[\w-]{20,}|(?<=\\[nrt])sk-[\w-]{20,}"),
    ("bearer token", ("bearer",), r"bearer\s{1,3}(?P<s>[\w.~+/=-]{16,})"),
    (
        "authorization",
        ("authorization",),
        r"authorization\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?(?P<s>[\w.~+/=-]{12,})(?![\w(])",
    ),
    (
        "authorization",
        ('auth"', "auth\\", "auth'"),
        r"auth\\*[\"']\s{0,3}:\s{0,3}\\*[\"'](?P<s>[a-z0-9+/]{12,}={0,2})\\*[\"']",
    ),
    ("URL token", ("://",), r"://(?P<s>[a-z0-9_-]{20,})(?::x-oauth-basic)?@(?=[\w.-])"),
    (
        "URL token",
        ("sig=", "key=", "auth=", "hash=", "signature="),
        r"[?&;](?:sig|key|auth|hash|signature|x-amz-signature)=(?P<s>[\w%+/=.~-]{16,})",
    ),
    (
        "password",
        ("-u ", "-u=", "-user ", "-user="),
        r"(?<!\S)(?:-u|--user|--proxy-user)[ =]{1,3}\\*[\"']?[^\s:\"'/\\]{1,64}:(?P<s>(?![$/~.\[\d])[^\s\"'\\]{4,})",
    ),
)
"""Those that words look like too; for texts in lower case, as those below."""
_SPOKEN: tuple[_Row, ...] = (
    (
        "authorization",
        ("authorization",),
        rf"authorization\\*[\"']?\s{{0,3}}[:=,]\s{{0,3}}\\*[\"']?{_SCHEME}(?P<s>(?![$<{{%\[])[^\s\"'`\\,]{{6,}})",
    ),
    (
        "cookie",
        ("cookie",),
        r"cookie\\*[\"']?\s{0,2}:\s{0,2}\\*[\"']?[\w.-]{1,60}=(?P<s>(?![$<{%\[])[^\n\"'\\]{8,})",
    ),
    ("password", ("login",), r"login\s{1,12}\S{1,80}\s{1,12}password\s{1,12}(?P<s>(?!\[)[^\s\"'\\]{4,})"),
    ("password", ("sshpass",), r"sshpass\s{1,3}-p\s{0,3}\\*[\"']?(?P<s>(?![$\[])[^\s\"'\\]{3,})"),
    (
        "password",
        ("mysql",),
        r"mysql(?:dump|admin)?\s[^\n\\]{0,120}?\s-p\\*[\"']?(?P<s>(?![$\[])[^\s\"'\\]{3,})",
    ),
    (
        "password",
        ("redis-cli",),
        r"redis-cli\s[^\n\\]{0,120}?-a\s{1,3}\\*[\"']?(?P<s>(?![$\[])[^\s\"'\\]{3,})",
    ),
    ("password", ("login ",), r"login\s[^\n\\]{0,120}?\s-p[ =]{1,3}\\*[\"']?(?P<s>(?![$\[-])[^\s\"'\\]{3,})"),
)
