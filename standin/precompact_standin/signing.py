"""Signatures and opaque blobs the stand-in hands out and recognises when they come back."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import msgspec


class Signer:
    """Signs small records and seals texts under one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def sign(self, record: dict[str, Any]) -> str:
        """An opaque string that says `record` and proves that this server wrote it."""
        payload = msgspec.json.encode(record, order="sorted")
        return _armour(payload + self._mac(payload))

    def read(self, signature: str) -> dict[str, Any] | None:
        """The record that was signed; nothing when the signature is not ours or was touched."""
        raw = _bare(signature)
        payload, mac = raw[:-32], raw[-32:]
        if len(raw) <= 32 or not hmac.compare_digest(mac, self._mac(payload)):
            return None
        found: dict[str, Any] = msgspec.json.decode(payload)
        return found

    def seal(self, record: dict[str, Any]) -> str:
        """As `sign`, but unreadable without the secret."""
        plain = msgspec.json.encode(record, order="sorted")
        nonce = self._mac(plain)[:16]
        veiled = self._veil(nonce, plain)
        return _armour(nonce + veiled + self._mac(nonce + veiled))

    def unseal(self, blob: str) -> dict[str, Any] | None:
        """The record that was sealed; nothing when the blob is not ours or was touched."""
        raw = _bare(blob)
        nonce, veiled, mac = raw[:16], raw[16:-32], raw[-32:]
        if len(raw) <= 48 or not hmac.compare_digest(mac, self._mac(nonce + veiled)):
            return None
        found: dict[str, Any] = msgspec.json.decode(self._veil(nonce, veiled))
        return found

    def _mac(self, data: bytes) -> bytes:
        return hmac.new(self._secret, data, hashlib.sha256).digest()

    def _veil(self, nonce: bytes, data: bytes) -> bytes:
        stream = hashlib.shake_256(self._secret + nonce).digest(len(data))
        return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def digest(value: Any) -> str:
    """A short name of any JSON value; equal values have equal names, whatever the order of their fields."""
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).hexdigest()


def _armour(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bare(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
