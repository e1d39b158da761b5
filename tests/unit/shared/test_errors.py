"""Errors say what to do next, carry ids, and survive the way between processes."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from precompact_shared import errors
from precompact_shared.errors import Permanent, PrecompactError, Retryable, Unavailable

FAMILIES = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PrecompactError)
]


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_error_tells_what_to_do_without_being_given_a_message(kind: type[PrecompactError]) -> None:
    """The class docstring is the message, and the code is its own."""
    assert str(kind()).endswith(".")
    assert "code" in vars(kind)


def test_facts_stand_after_the_message_and_absent_ones_do_not() -> None:
    """Ids are for the reader of a log."""
    error = Permanent("Give up.", session="s1", version=3, job=None)
    assert str(error) == "Give up. (session=s1, version=3)"
    assert error.facts["version"] == 3


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301
def test_an_error_keeps_its_facts_when_it_crosses_a_process(again: object) -> None:
    """Celery pickles or copies errors; ours come out equal."""
    error = Unavailable("Redis is away.", retry_after_s=2.5, shard="s07")
    assert callable(again)
    twin = again(error)
    assert isinstance(twin, Retryable)
    assert (twin.message, twin.retry_after_s, twin.facts) == ("Redis is away.", 2.5, {"shard": "s07"})
