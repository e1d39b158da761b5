"""What is hidden before a transcript leaves, and what is not."""

from __future__ import annotations

import json
import time

import pytest

from precompact_worker.masking import mask, mask_message
from tests.support.planted_secrets import Planted, is_left, pem, planted, ways


@pytest.mark.parametrize("one", planted(), ids=lambda one: one.name)
def test_secrets_are_hidden_wherever_a_transcript_has_them(one: Planted) -> None:
    """Plain, in prose, in arguments of calls, in JSON in JSON, amid a line of many thousand characters."""
    for way, text in ways(one.text):
        masked = mask(text)
        assert not [secret for secret in one.secrets if is_left(secret, masked)], way
        assert "[secret: " in masked
        assert mask(masked) == masked, "what is masked stays as it is when it is sent again"


@pytest.mark.parametrize("one", planted(), ids=lambda one: one.name)
def test_arguments_of_a_call_stay_json(one: Planted) -> None:
    """Code reads paths and commands off them afterwards."""
    told = json.loads(mask(json.dumps({"command": one.text, "data": [one.text]}, ensure_ascii=False)))
    assert set(told) == {"command", "data"}


def test_a_messages_texts_are_masked_and_nothing_else() -> None:
    """Arguments of calls wherever they stand; ids, media and signatures would be spoilt."""
    token = "sk-ant-" + "a7" * 20
    call = {
        "type": "tool_use",
        "id": token,
        "name": "Bash",
        "input": {"name": token, "data": [token], "n": 1},
    }
    shown = {"type": "image", "source": {"type": "base64", "data": token}}
    message = {"role": "assistant", "content": [call, shown, {"type": "text", "text": f"data: {token}"}]}
    masked = mask_message(message)
    hidden = "[secret: Anthropic key]"
    assert masked["content"][0] == {**call, "input": {"name": hidden, "data": [hidden], "n": 1}}
    assert masked["content"][1:] == [shown, {"type": "text", "text": f"data: {hidden}"}]


STAYS = """
commit 3f785a7c8b0e5d6a9c1b2d3e4f5a6b7c8d9e0f1a
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
id 550e8400-e29b-41d4-a716-446655440000
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ
Grüße, 世界 — “quoted”, 密码是必填项
the password is needed for login; see tests/test_password.py
def get_token(self): return self.token
max_tokens = 500, MAX_TOKENS=4096, input_tokens=1200, tokens: 12345
api_key: str | None = None
connect(host=host, password=password, port=5432)
password = os.environ["DB_PASSWORD"]
password = getpass.getpass("Password: ")
const token = await getToken(user.id);
if (token.type === TokenType.Identifier) {
export interface Login { password: string; token: string | null }
  password: z.string().min(8),
secretName: "db-creds", PASSWORD_FILE=/run/secrets/db_password
TOKEN_URL=https://auth.example.org/oauth/token
"token": "IDENTIFIER"
https://github.com/org/repo/blob/3f785a7c8b0e5d6a9c1b2d3e4f5a6b7c8d9e0f1a/src/x.py#L10
git@github.com:org/repo.git and http://localhost:3000/api/users
rsync -u host:/srv/data1 . && docker run -u 1000:1000 img
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq user@host"
API_KEY=${API_KEY} curl -H "Authorization: Bearer $TOKEN" https://x
cache_key = f"user:{id}:v2"
class="sk-folding-cube-animation"
"password": "Enter your password"
verdict: anyPassed ? 'pass' : 'fail-on-purpose1',
--- PASS: TestTruncateAtUUID2 (0.00s)
a second-pass evaluator2 and non-secret attributes2 of it
sessionID := "2024-01-15-a1b2c3d4e5f6"
Error: secret "db-credentials-v2" not found in namespace "prod"
AKIA is the prefix of AWS access key ids
-----BEGIN PUBLIC KEY-----
grep -rn "BEGIN RSA PRIVATE KEY" . and then fix what you find, all of it
if text.startswith("-----BEGIN PRIVATE KEY-----") and text.endswith("-----END PRIVATE KEY-----"):
app/models/user.py:5432:10:in:validate2
tokenizer: o200k_base2
    password=hashed
        password: password,
export type Props = { password: string }
Promise<Token>resolve</b> and getToken("users.list") and t("password", "login.label")
SECRET_NAME=my-app-secret
SSH_PUBLIC_KEY=AAAAC3NzaC1lZDI1NTE5AAAAIGq
connect(password=password2, token=token) or token | null || other
APACHELICENSE2 APERTURE
""".strip().split("\n")


@pytest.mark.parametrize("text", [*STAYS, ""])
def test_what_a_summary_is_about_stays(text: str) -> None:
    """Hashes, ids, names, types, code, talk of secrets; alone, between lines, as arguments of a call."""
    for shown in (text, f"x\n{text}\ny", json.dumps({"command": text})):
        assert mask(shown) == shown


def test_a_key_that_is_not_whole_does_not_hide_what_follows_it() -> None:
    """The first lines of a key, as `head` shows them, and then the work goes on."""
    text, lines = pem("RSA PRIVATE KEY")
    shown = "\n".join(text.split("\n")[:4]) + "\nThen run the tests of src/app.py, please."
    masked = mask(shown)
    assert not any(line in masked for line in lines)
    assert masked.endswith("Then run the tests of src/app.py, please.")


def test_a_secret_that_was_found_once_is_hidden_in_the_whole_text() -> None:
    """Its name stands at one place, and the bare word at others; a password that is a word stays one."""
    text = "Use v9Kq2xTz71; the db password: v9Kq2xTz71.\nPGPASSWORD=postgres psql postgres\n- identifier: `v9Kq2xTz71`"
    masked = mask(text)
    assert "v9Kq2xTz71" not in masked
    assert masked.endswith("PGPASSWORD=[secret: named] psql postgres\n- identifier: `[secret: repeated]`")
    assert mask(masked) == masked


PIECES = [
    "a", "a.b.c.", "0f", "eyJ", "/", "https://example.org/a ", "key" + " " * 997, " ", "\n", "-----BEGIN ", "password=", "secret ",
    "-----BEGIN PRIVATE KEY-----", " " * 9_000 + "-----END PRIVATE KEY-----", "token=", 'token:"', "login x password ", "mysql ",
    "://a:b", "bearer ", "sk-", '"', "\\", "aws key ", "_", "-", "1", "authorization: ", "İ", "api_key=" + "a" * 5_000 + " ",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_no_text_takes_more_than_its_length(piece: str) -> None:
    """300,000 characters of the same take tenths of a second; what is quadratic takes minutes, and the process with it."""
    text = piece * (300_000 // len(piece) + 1)
    begun = time.thread_time()
    mask(text)
    assert time.thread_time() - begun < 20
