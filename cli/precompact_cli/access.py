"""Where the running service is and with which key it is asked: as given, else as the environment or `up` says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from getpass import getpass
from pathlib import Path

from precompact_cli.exits import InputRefused
from precompact_cli.services import answers
from precompact_shared.settings import environment, load_settings

LOCAL_URL = "http://127.0.0.1:8420"
URL_VARIABLE, KEY_VARIABLE = "PRECOMPACT_URL", "PRECOMPACT_KEY"
_FILE = "up.json"


@dataclass(frozen=True, slots=True)
class Access:
    """A service's address and a tenant's key."""

    url: str
    key: str = field(repr=False)


def find_access(url: str | None, key: str | None) -> Access:
    """The address given, else PRECOMPACT_URL, else that of a running `up`, else the usual one; the key likewise.

    A key that nobody gave is asked for on a terminal. Raises InputRefused elsewhere.
    """
    variables = environment()
    found = url or variables.get(URL_VARIABLE) or _url_of_up() or LOCAL_URL
    secret = key or variables.get(KEY_VARIABLE) or _asked()
    if not secret:
        raise InputRefused(
            f"A tenant's key is needed: give --key or set {KEY_VARIABLE}; "
            "`precompact up` prints one at its first start, `precompact up --new-key` another."
        )
    return Access(found, secret)


@contextmanager
def told_where(data_dir: Path, url: str) -> Iterator[None]:
    """Within it other commands of this user find the service; the key is not written down."""
    file = data_dir / _FILE
    file.write_text(json.dumps({"api": url}), encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _url_of_up() -> str | None:
    try:
        url = json.loads((load_settings().data_dir / _FILE).read_text(encoding="utf-8"))["api"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(url) if answers(f"{url}/healthz") else None


def _asked() -> str:
    return getpass("Key: ").strip() if sys.stdin.isatty() else ""
