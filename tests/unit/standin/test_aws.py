"""What AWS puts around a protocol, held against AWS's own library."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer

from precompact_standin.aws import eventstream
from precompact_standin.aws.signature import Target, is_signed, read_signature
from precompact_standin.refusal import Refusal

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = b'{"max_tokens":1}'
PATH = "/model/arn:aws:bedrock:us-east-1:1:inference-profile%2Fus.anthropic.claude-opus-5-5-v1:0/invoke"


def test_a_chunk_is_what_the_library_reads() -> None:
    """Headers, checksums, payload; also when it comes in pieces."""
    buffer = EventStreamBuffer()
    raw = eventstream.chunk({"type": "ping"}) + eventstream.exception("throttlingException", "wait")
    for at in range(0, len(raw), 7):
        buffer.add_data(raw[at : at + 7])
    chunk, exception = list(buffer)
    assert chunk.headers[":event-type"] == "chunk"
    assert json.loads(chunk.payload)["bytes"] == "eyJ0eXBlIjoicGluZyJ9"
    assert exception.headers[":exception-type"] == "throttlingException"
    assert exception.to_response_dict()["status_code"] == 400


def test_a_flipped_bit_is_seen_by_the_library() -> None:
    """The checksum is one over everything in front of it."""
    raw = bytearray(eventstream.chunk({"type": "ping"}))
    raw[-6] ^= 1
    buffer = EventStreamBuffer()
    buffer.add_data(bytes(raw))
    with pytest.raises(ChecksumMismatch):
        list(buffer)


def signed(path: str = PATH, query: str = "", service: str = "bedrock") -> dict[str, str]:
    """Headers as the library signs them."""
    url = f"http://127.0.0.1:8430{path}" + (f"?{query}" if query else "")
    request = AWSRequest("POST", url, data=BODY, headers={"accept": "application/json", "x-odd": " a   b "})
    SigV4Auth(Credentials(KEY, SECRET), service, "eu-central-1").add_auth(request)
    made = {name.lower(): str(value) for name, value in dict(request.headers).items()}
    return {**made, "host": "127.0.0.1:8430"}


def refused(
    headers: Mapping[str, str], body: bytes, target: Target, secrets: Mapping[str, str]
) -> str | None:
    """The kind of the refusal."""
    with pytest.raises(Refusal) as caught:
        read_signature(headers, body, target, secrets)
    assert caught.value.status == 403
    return caught.value.code


@pytest.mark.parametrize("query", ["", "b=2&a=x%20y", "a="])
@pytest.mark.parametrize("path", [PATH, "/v1/responses"])
def test_the_librarys_signature_is_right(path: str, query: str) -> None:
    """Paths are quoted a second time; header values lose their spare spaces."""
    found = read_signature(signed(path, query), BODY, Target("POST", path, query), {KEY: SECRET})
    assert (found.key, found.scope, found.is_proven) == (KEY, "eu-central-1/bedrock", True)


def test_whatever_was_changed_underway_breaks_the_signature() -> None:
    """Body, path, query, a signed header, the secret."""
    headers, target = signed(), Target("POST", PATH)
    wrong = "InvalidSignatureException"
    assert refused(headers, b"{}", target, {KEY: SECRET}) == wrong
    assert refused(headers, BODY, Target("POST", PATH + "x"), {KEY: SECRET}) == wrong
    assert refused(headers, BODY, Target("POST", PATH, "a=1"), {KEY: SECRET}) == wrong
    assert refused({**headers, "accept": "*/*"}, BODY, target, {KEY: SECRET}) == wrong
    assert refused(headers, BODY, target, {KEY: "other"}) == wrong
    assert refused(headers, BODY, target, {"OTHER": SECRET}) == "UnrecognizedClientException"


def test_scope_and_date_have_to_fit() -> None:
    """Even where nobody's secret is known."""
    target = Target("POST", PATH)
    assert not read_signature(signed(), BODY, target, {}).is_proven
    assert refused(signed(service="s3"), BODY, target, {}) == "InvalidSignatureException"
    assert refused({**signed(), "x-amz-date": "20200101T000000Z"}, BODY, target, {}) == (
        "InvalidSignatureException"
    )
    half = {"authorization": "AWS4-HMAC-SHA256 Credential=x"}
    assert is_signed(half)
    assert refused(half, BODY, target, {}) == "IncompleteSignatureException"
