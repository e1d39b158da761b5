"""What is hidden before a transcript leaves, and what is not."""

from __future__ import annotations

import pytest

from precompact_worker.masking import mask

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("AWS_KEY=AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        ('password = "hunter2hunter2"', "hunter2hunter2"),
        ("key sk-ant-api03-abcdefghijklmnopqrstuv end", "sk-ant-api03-abcdefghijklmnopqrstuv"),
        ("sk-proj-abcdefghijklmnopqrstuvwx1234", "abcdefghijklmnopqrstuvwx1234"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789"),
        (f"token {JWT}", JWT.split(".")[2]),
        (PEM, "MIIEpAIBAAKCAQEA"),
        (PEM[:50], "MIIEpAIBAAKCAQEA"),
        ("postgres://bob:s3cr3tpw@db.example.org/x", "s3cr3tpw"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
        ("PRECOMPACT_KEY=pck_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
    ],
)
def test_secrets_of_known_forms_are_hidden(text: str, secret: str) -> None:
    """Their kind is named in their place."""
    assert secret not in mask(text)
    assert "[secret: " in mask(text)
    assert mask(text) == mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f785a7c8b0e5d6a9c1b2d3e4f5a6b7c8d9e0f1a",
        "the password is needed for login; see tests/test_password.py",
        "def get_token(self): return self.token",
        "max_tokens = 500",
        "api_key: str | None = None",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        "Grüße, 世界 — “quoted”",
        "",
    ],
)
def test_what_a_summary_is_about_stays(text: str) -> None:
    """Hashes, names, types, text."""
    assert mask(text) == text
