"""Signature version 4 of AWS, as the server checks it: an independent reading of its public description."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from precompact_standin.refusal import Refusal

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICES = frozenset({"bedrock", "bedrock-mantle"})
_FORM = re.compile(
    rf"{ALGORITHM} Credential=(?P<key>[^/,\s]+)/(?P<day>\d{{8}})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z0-9-]+)"
    r"/aws4_request, ?SignedHeaders=(?P<names>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Request line: `path` as it came, `query` without its question mark."""

    method: str = "POST"
    path: str = "/"
    query: str = ""


@dataclass(frozen=True, slots=True)
class Signed:
    """Who signed, and for what. `is_proven`: the secret is known here, and the signature is right."""

    key: str
    scope: str
    is_proven: bool


def is_signed(headers: Mapping[str, str]) -> bool:
    """Whether a request comes with a signature and not with a key."""
    return headers.get("authorization", "").startswith(ALGORITHM)


def read_signature(
    headers: Mapping[str, str], content: bytes, target: Target, secrets: Mapping[str, str]
) -> Signed:
    """The signer. `secrets` by access key; empty = nobody's secret is known and none is checked. Raises a 403."""
    found = _FORM.fullmatch(headers["authorization"])
    if found is None:
        raise _forbidden("The Authorization header is incomplete.", "IncompleteSignatureException")
    key, day, region, service = found["key"], found["day"], found["region"], found["service"]
    at = headers.get("x-amz-date", "")
    if not at.startswith(day):
        raise _forbidden(
            "The date in the credential scope is not that of X-Amz-Date.", "InvalidSignatureException"
        )
    if service not in SERVICES:
        raise _forbidden(
            f"Credential should be scoped to correct service, not '{service}'.", "InvalidSignatureException"
        )
    scope = f"{day}/{region}/{service}/aws4_request"
    if secrets:
        if key not in secrets:
            raise _forbidden(
                "The security token included in the request is invalid.", "UnrecognizedClientException"
            )
        request = _canonical_request(headers, found["names"].split(";"), content, target)
        digest = hashlib.sha256(request.encode()).hexdigest()
        expected = _signature(secrets[key], scope, f"{ALGORITHM}\n{at}\n{scope}\n{digest}")
        if not hmac.compare_digest(expected, found["signature"]):
            raise _forbidden(
                "The request signature we calculated does not match the signature you provided.",
                "InvalidSignatureException",
            )
    return Signed(key, f"{region}/{service}", bool(secrets))


def _canonical_request(headers: Mapping[str, str], names: list[str], content: bytes, target: Target) -> str:
    missing = {"host", "x-amz-date"} - set(names)
    if missing:
        raise _forbidden(f"'{missing.pop()}' must be signed.", "InvalidSignatureException")
    lines = [f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in names]
    parts = [
        target.method,
        quote(target.path, safe="/~"),
        _canonical_query(target.query),
        "".join(lines),
        ";".join(names),
        hashlib.sha256(content).hexdigest(),
    ]
    return "\n".join(parts)


def _canonical_query(query: str) -> str:
    pairs = sorted(pair.partition("=")[::2] for pair in query.split("&") if pair)
    return "&".join(
        f"{quote(unquote(name), safe='~')}={quote(unquote(value), safe='~')}" for name, value in pairs
    )


def _signature(secret: str, scope: str, text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _forbidden(message: str, code: str) -> Refusal:
    return Refusal(message, 403, "permission_error", code=code)
