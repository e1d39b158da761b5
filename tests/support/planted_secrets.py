"""Secrets as they stand in sessions of coding agents: made up, of the shapes that real ones have."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Iterator
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
PASSWORD = "s3cr3tPw9"
_random = random.Random(7)


class Planted(NamedTuple):
    """A text and what must not be left of it."""

    name: str
    text: str
    secrets: tuple[str, ...]


def some(size: int, alphabet: str = ALNUM) -> str:
    """Characters nobody would guess."""
    return "".join(_random.choice(alphabet) for _ in range(size))


def pem(kind: str) -> tuple[str, tuple[str, ...]]:
    """A private key and its lines."""
    lines = tuple(some(64, BASE64) for _ in range(12))
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----")), lines


def planted() -> list[Planted]:
    """All there are, the same at every call in a process."""
    return _ALL


def ways(text: str) -> Iterator[tuple[str, str]]:
    """How it stands in a transcript: as it is, in prose, as arguments of a call, in JSON in JSON, amid a long line."""
    yield "plain", text
    yield "prose", f"I ran this and got {text} as the result"
    yield "arguments", json.dumps({"command": text, "description": "x"}, ensure_ascii=False)
    yield (
        "nested",
        json.dumps({"body": json.dumps({"content": text}, ensure_ascii=False)}, ensure_ascii=False),
    )
    code = "def f():\n    return 1\n" * 200
    yield (
        "long line",
        json.dumps({"file_path": "/a/b.py", "content": f"{code}{text}\n{code}"}, ensure_ascii=False),
    )


def is_left(secret: str, text: str) -> bool:
    """Whether the secret, or either end of a long one, stands in the text."""
    if len(secret) >= 20 and (secret[:12] in text or secret[-12:] in text):
        return True
    return secret in text or json.dumps(secret)[1:-1] in text


def _tokens() -> Iterator[Planted]:
    """Those whose shape gives them away: a prefix and what follows."""
    shapes = {
        "sk-ant-api03-": 95, "sk-ant-oat01-": 95, "sk-proj-": 150, "sk-svcacct-": 90, "sk-or-v1-": 64, "ghp_": 36, "gho_": 36,
        "ghu_": 36, "ghs_": 36, "ghr_": 36, "github_pat_": 82, "glpat-": 20, "AIza": 35, "ya29.": 120, "GOCSPX-": 28,
        "sk_live_": 99, "sk_test_": 24, "rk_live_": 24, "whsec_": 32, "npm_": 36, "hf_": 34, "gsk_": 52, "xai-": 80, "pplx-": 48,
        "nvapi-": 64, "r8_": 37, "lsv2_pt_": 32, "tvly-": 32, "ntn_": 46, "lin_api_": 40, "figd_": 40, "sb_secret_": 31,
        "dckr_pat_": 27, "glsa_": 40, "sntrys_": 80, "shpat_": 32, "rubygems_": 48, "PMAK-": 59, "ATATT3xFfGF0": 180,
        "hvs.": 90, "dp.pt.": 43, "pscale_pw_": 43, "HRKU-": 60, "NRAK-": 27, "CCIPAT_": 60, "tgp_v1_": 43, "dop_v1_": 64,
        "AGE-SECRET-KEY-1": 58, "pypi-AgEIcHlwaS5vcmc": 120, "pck_": 43,
    }  # fmt: skip
    for prefix, size in shapes.items():
        digit, rest = "7", some(size - 1, UPPER if prefix.startswith("AGE") else ALNUM)
        yield Planted(f"token {prefix}", f"it is {prefix}{digit}{rest}, as told", (digit + rest,))
    jwt = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{some(80)}.{some(43)}"
    yield Planted("JSON web token", f"Set-Cookie: session={jwt}; HttpOnly", tuple(jwt.split(".")[1:]))
    bot = f"xoxb-{some(12, string.digits)}-{some(13, string.digits)}-{some(24)}"
    yield Planted("Slack bot", bot, (bot[-24:],))
    app = f"xapp-1-A{some(10, UPPER)}-{some(13, string.digits)}-{some(64, HEX)}"
    yield Planted("Slack app", app, (app[-64:],))
    hook = some(68)
    yield Planted("Discord hook", f"https://discord.com/api/webhooks/112233445566778899/{hook}", (hook,))
    azure = f"abc8Q~{some(34)}"
    yield Planted("Azure client secret", azure, (azure,))
    mail = some(32, HEX)
    yield Planted("Mailgun", f"api:key-{mail}", (mail,))
    gram = some(33)
    yield Planted("Telegram", f"{some(10, string.digits)}:AA{gram}", (gram,))


def _keys() -> Iterator[Planted]:
    """Private keys, whole and in part, as tools show them."""
    kinds = (
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    )
    for kind in (*kinds, "PGP PRIVATE KEY BLOCK"):
        text, lines = pem(kind)
        yield Planted(kind, f"$ cat key\n{text}\n$ ls", lines)
    text, lines = pem("RSA PRIVATE KEY")
    rows = text.split("\n")
    yield Planted("numbered key", "\n".join(f"{n:6d}\t{row}" for n, row in enumerate(rows, 1)), lines)
    yield Planted("key with arrows", "\n".join(f"{n:5d}→{row}" for n, row in enumerate(rows, 1)), lines)
    yield Planted("key in a diff", "\n".join(f"+{row}" for row in rows), lines)
    yield Planted("end of a key", "\n".join(rows[4:]), lines[3:])
    yield Planted("beginning of a key", "\n".join(rows[:8]), lines[:7])
    yield Planted("key in a variable", 'TLS_KEY="' + text.replace("\n", "\\n") + '"', lines)
    account = {"type": "service_account", "private_key_id": some(40, HEX), "private_key": f"{text}\n"}
    yield Planted("service account", json.dumps(account, indent=2), lines)
    coded = base64.b64encode(text.encode()).decode()
    yield Planted("kubeconfig", f"user:\n    client-key-data: {coded}\n", (coded, coded[200:260]))


def _aws_and_azure() -> Iterator[Planted]:
    name, secret = f"AKIA{some(16, UPPER)}", some(40, BASE64)
    session = some(300, BASE64)
    yield Planted(
        "AWS variables", f"AWS_ACCESS_KEY_ID={name}\nAWS_SECRET_ACCESS_KEY={secret}", (name, secret)
    )
    profile = f"[default]\naws_access_key_id = {name}\naws_secret_access_key = {secret}\n"
    yield Planted("AWS profile", profile, (name, secret))
    told = {"AccessKeyId": f"ASIA{some(16, UPPER)}", "SecretAccessKey": secret, "SessionToken": session}
    yield Planted("AWS session", json.dumps({"Credentials": told}, indent=1), (secret, session))
    yield Planted("AWS table", f"Access key ID,Secret access key\n{name},{secret}\n", (name, secret))
    storage = f"{some(86, BASE64)}=="
    yield Planted(
        "Azure storage", f"AccountName=a;AccountKey={storage};EndpointSuffix=core.windows.net", (storage,)
    )
    bus = f"{some(43, BASE64)}="
    yield Planted(
        "Azure bus", f"Endpoint=sb://x.example.net/;SharedAccessKeyName=Root;SharedAccessKey={bus}", (bus,)
    )
    signature = f"{some(43)}%3D"
    yield Planted(
        "Azure signature", f"https://a.example.net/c/b?sv=2022&sig={signature}&se=2026", (signature,)
    )


def _places() -> Iterator[Planted]:
    """Passwords in URLs, commands and headers."""
    url = "p@ss!w0rd#9"
    yield Planted("database URL", f"postgres://bob:{PASSWORD}@db.example.org:5432/x", (PASSWORD,))
    yield Planted(
        "URL with signs", f"DATABASE_URL=postgresql+asyncpg://bob:{url}@db.example.org/x", (url, "ss!w0rd")
    )
    yield Planted("URL without user", f"redis://:{PASSWORD}@cache:6379/0", (PASSWORD,))
    yield Planted("Mongo", f"mongodb+srv://app:{PASSWORD}@c0.example.net/?retryWrites=true", (PASSWORD,))
    yield Planted("JDBC", f"jdbc:mysql://db:3306/x?user=root&password={PASSWORD}&ssl=true", (PASSWORD,))
    yield Planted("DSN", f"host=db port=5432 user=bob password={PASSWORD} dbname=x", (PASSWORD,))
    yield Planted("ADO", f"Server=tcp:x,1433;User ID=bob;Password={PASSWORD};Encrypt=True", (PASSWORD,))
    token, basic = some(32), base64.b64encode(f"bob:{PASSWORD}".encode()).decode()
    yield Planted("bearer", f"curl -H 'Authorization: Bearer {token}' https://x", (token,))
    yield Planted("basic", f'curl -H "Authorization: Basic {basic}"', (basic,))
    yield Planted("header", f'curl -H "X-Api-Key: {token}" https://x', (token,))
    yield Planted("cookie", f"Cookie: sessionid={some(32, HEX)}; csrftoken={token}", (token,))
    yield Planted("query", f"GET /api?access_token={token}&page=2", (token,))
    yield Planted("curl", f"curl -u bob:{PASSWORD} https://x", (PASSWORD,))
    yield Planted("flag", f"mysql --user=root --password={PASSWORD} x", (PASSWORD,))
    yield Planted("flag and blank", f"vault login --token {PASSWORD}", (PASSWORD,))
    yield Planted("short flag", f"mysql -uroot -p{PASSWORD} x", (PASSWORD,))
    yield Planted("quoted short flag", f"mysqldump -u root -p'{PASSWORD}' x", (PASSWORD,))
    yield Planted("redis-cli", f"redis-cli -h cache -a {PASSWORD} ping", (PASSWORD,))
    yield Planted("sshpass", f"sshpass -p '{PASSWORD}' ssh x", (PASSWORD,))
    yield Planted("docker login", f"docker login -u bob -p {PASSWORD} reg.example.org", (PASSWORD,))
    yield Planted("netrc", f"machine api.example.org login bob password {PASSWORD}", (PASSWORD,))
    yield Planted("docker config", json.dumps({"auths": {"reg.example": {"auth": basic}}}), (basic,))


def _names() -> Iterator[Planted]:
    """Values that only their names give away."""
    key, coded = some(31) + "7", base64.b64encode(PASSWORD.encode()).decode()
    phrase, signing = "keyboard cat 42", "my-super-long-jwt-signing-value"
    env = f'NODE_ENV=production\nDB_PASSWORD=correcthorse\nJWT_SECRET={signing}\nSESSION_SECRET="{phrase}"\nDEBUG=true'
    yield Planted(".env", env, ("correcthorse", signing, phrase))
    yield Planted("export", f"export DB_PASS='{PASSWORD}' && export STRIPE_SECRET={key}", (PASSWORD, key))
    yield Planted(
        "docker run", f"docker run -e POSTGRES_PASSWORD={PASSWORD} -e PORT=1 postgres:16", (PASSWORD,)
    )
    yield Planted("YAML", f"database:\n  username: bob\n  password: {PASSWORD}\n  host: x", (PASSWORD,))
    yield Planted(
        "Python", 'PASSWORD = "hunter2hunter2"\npassword = "tr0ub4dor&3"', ("hunter2hunter2", "tr0ub4dor&3")
    )
    yield Planted("TypeScript", f"const apiKey = '{key}';", (key,))
    yield Planted("JSON", f'{{"db": {{"password": "hunter2!x", "api_key": "{key}"}}}}', ("hunter2!x", key))
    yield Planted("TOML", f'secret_key = "{key}"', (key,))
    hexed = some(128, HEX)
    yield Planted("Rails", f"production:\n  secret_key_base: {hexed}", (hexed,))
    yield Planted("wallet", f"PRIVATE_KEY=0x{hexed[:64]}", (hexed[:64],))
    yield Planted(
        "Kubernetes", f"kind: Secret\ndata:\n  password: {coded}\n  token: {hexed[:60]}", (coded, hexed[:60])
    )
    yield Planted(
        "pod", f"env:\n  - name: DB_PASSWORD\n    value: {PASSWORD}\n  - name: X\n    value: y", (PASSWORD,)
    )
    yield Planted("container", json.dumps([{"name": "API_KEY", "value": key}]), (key,))
    yield Planted(
        "XML", f"<server><username>bob</username><password>{PASSWORD}</password></server>", (PASSWORD,)
    )
    yield Planted("web.config", f'<add key="ApiKey" value="{key}" />', (key,))
    yield Planted(
        "properties", "server.port=80\nspring.datasource.password=correcthorse\nx.y=1", ("correcthorse",)
    )
    yield Planted(
        "YAML with words",
        "db:\n  password: correcthorse  # staging\n  client_secret: tr-ou-ba-dor\n",
        ("correcthorse", "tr-ou-ba-dor"),
    )
    yield Planted("setter", f'client.setPassword("{PASSWORD}")', (PASSWORD,))
    yield Planted("letters", "GITHUB_TOKEN=abcdefghijklmnopqrstuvwx make", ("abcdefghijklmnopqrstuvwx",))
    yield Planted("short", "vault kv put secret/x password=hunter2", ("hunter2",))
    yield Planted(
        "literal", "kubectl create secret generic x --from-literal=password=correcthorse", ("correcthorse",)
    )
    yield Planted("fallback", f"const key = process.env.SECRET_KEY || '{key}';", (key,))
    yield Planted("table", f"| user | bob |\n| password | {PASSWORD} |", (PASSWORD,))
    yield Planted("bold", f"- **Password:** {PASSWORD}", (PASSWORD,))
    yield Planted("vendor's variable", f"export ACME_KEY={key}", (key,))
    yield Planted("mail", f'auth: {{ user: "bob", pass: "{PASSWORD}" }}', (PASSWORD,))
    yield Planted("words", "btw my db password is Tr0ub4dor&3x, do not share", ("Tr0ub4dor&3x",))
    yield Planted("German", "das Passwort ist Tr0ub4dor&3x und bleibt so", ("Tr0ub4dor&3x",))
    yield Planted("Chinese", f"数据库密码: {PASSWORD}", (PASSWORD,))


_ALL = [*_tokens(), *_keys(), *_aws_and_azure(), *_places(), *_names()]
