"""`precompact key`: the first key of a deployment."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx
import pytest

from precompact_shared.settings import environment
from tests.support.service import Service


def issue(service: Service, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command against the service's own store."""
    urls = {
        "PRECOMPACT_STATE_REDIS_URL": service.settings.required_state_redis_url,
        "PRECOMPACT_BROKER_URL": service.settings.required_broker_url,
    }
    command = [sys.executable, "-m", "precompact_cli", "key", *arguments, "--json"]
    return subprocess.run(command, env={**environment(), **urls}, capture_output=True, text=True, check=False)


def test_a_key_opens_the_api_for_its_tenant(service: Service) -> None:
    """The tenant is made on the way; the store keeps the hash alone."""
    told = json.loads(issue(service, f"{service.tenant}-new").stdout)
    with httpx.Client(
        base_url=service.base_url, headers={"Authorization": f"Bearer {told['key']}"}
    ) as client:
        made = client.post("/v1/sessions", json={"id": "s", "format": "anthropic", "window": 100_000})
    assert (made.status_code, told["scopes"]) == (201, ["agent"])
    assert service.store.client.get(told["key"]) is None


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(("acme", "--scope", "everything"), "agent"), (("no/such name",), "letters")],
)
def test_what_is_no_scope_or_name_is_refused_with_what_to_do(
    service: Service, arguments: tuple[str, ...], hint: str
) -> None:
    """One line on stderr, and nothing is made."""
    ended = issue(service, *arguments)
    assert ended.returncode in {1, 2}
    assert hint in ended.stderr
    assert "Traceback" not in ended.stderr
