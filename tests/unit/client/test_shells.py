from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import precompact
from precompact.face import uses_proxies

PAIRS = [(precompact.Client, precompact.AsyncClient), (precompact.Session, precompact.AsyncSession)]
NO_ASYNC_TWIN = {"__enter__", "__exit__", "__aenter__", "__aexit__", "__init__"}


def promised(kind: type) -> dict[str, Any]:
    """Parameters and docstring of each own public method; results apart, since one kind awaits them."""
    return {
        name: (str(inspect.signature(member)).rpartition(" -> ")[0], member.__doc__)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and name not in NO_ASYNC_TWIN and not name.startswith("_")
    }


@pytest.mark.parametrize(("blocking", "awaiting"), PAIRS, ids=["client", "session"])
def test_both_shells_promise_the_same(blocking: type, awaiting: type) -> None:
    """What one can do the other can, with the same words."""
    assert promised(blocking) == promised(awaiting)
    assert len(promised(blocking)) >= 3


def test_everything_public_is_documented() -> None:
    """`__all__` is sorted and each name says what it is."""
    assert precompact.__all__ == sorted(precompact.__all__)
    assert all(getattr(precompact, name).__doc__ for name in precompact.__all__)


def test_the_client_imports_nothing_of_the_server() -> None:
    """It must be installable and readable alone: httpx is all it needs."""
    folder = Path(precompact.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert {name for name in imported if name.startswith("precompact_")} == set()
    assert "httpx" in imported
    assert not imported & {"anthropic", "openai", "redis", "celery", "fastapi", "msgspec", "pydantic"}


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("http://127.0.0.1:8080", False),
        ("http://localhost", False),
        ("http://[::1]:9", False),
        ("https://pc.example", True),
    ],
)
def test_a_proxy_is_not_asked_for_a_service_on_this_machine(url: str, used: bool) -> None:
    """A developer's proxy settings must not break the local service."""
    assert uses_proxies(url) is used
