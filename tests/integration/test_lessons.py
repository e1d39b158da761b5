"""What sessions learn of a model's tokens is passed on to the tenant's next ones; it is advice."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from precompact_shared.engine.estimate import Lessons, State, learn
from precompact_shared.store import tenants
from precompact_shared.store.calibration import Remembered, unpack
from precompact_shared.store.types import Lesson
from tests.support.service import Service
from tests.support.waiting import eventually

MODEL = "claude-sonnet-4-6"
TEXT = "the parser reads one line after the other and writes what it finds into the table\n" * 60


def calibration(service: Service, session: str) -> Remembered:
    """What a session has learned, as it lies in Redis."""
    raw = service.store.client.hget(service.keys(session).key("h"), "est")
    assert isinstance(raw, bytes)
    return unpack(raw)


def play(http: httpx.Client, session: str, *, turns: int, rate: float) -> None:
    """A session whose prompts grow by `rate` tokens for each that the service expects."""
    made = {"id": session, "format": "anthropic", "model": MODEL, "window": 1_000_000}
    assert http.post("/v1/sessions", json=made).status_code == 201
    total, length = 20_000.0, 0
    messages: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    for _ in range(turns):
        usage = {"input_tokens": int(total), "version": 0, "length": length} if length else None
        body: dict[str, Any] = {
            "seen": {"version": 0, "length": length},
            "messages": messages,
            "adopt": "never",
        }
        answer = http.post(f"/v1/sessions/{session}/prepare", json=body | ({"usage": usage} if usage else {}))
        assert answer.status_code == 200, answer.text
        length = answer.json()["length"]
        size = answer.json()["context"]["tokens"]
        total = total + rate * (size - total) if usage else 20_000.0
        messages = [{"role": "assistant", "content": TEXT}, {"role": "user", "content": TEXT}]


def test_the_next_session_on_a_model_starts_from_what_the_others_learned(service: Service) -> None:
    """And a session on another model does not."""
    with service.client() as http:
        play(http, "teacher", turns=14, rate=1.1)
        taught = calibration(service, "teacher")
        assert taught.steps >= 8
        assert taught.text > 1.02
        numbers = iter(range(1000))

        def starts_ahead() -> bool:
            name = f"pupil-{next(numbers)}"
            made = {"id": name, "format": "anthropic", "model": MODEL, "window": 1_000_000}
            assert http.post("/v1/sessions", json=made).status_code == 201
            return 1.0 < calibration(service, name).text < taught.text

        eventually(starts_ahead, 10, "a new session starts from the tenant's lessons")
        made = {"id": "other", "format": "anthropic", "model": "claude-opus-4-8", "window": 1_000_000}
        http.post("/v1/sessions", json=made)
        assert calibration(service, "other").text == 1.0


def test_a_fork_starts_from_what_its_source_learned(service: Service) -> None:
    """It is the same conversation; no report is its own yet."""
    with service.client() as http:
        play(http, "s", turns=6, rate=1.1)
        assert http.post("/v1/sessions/s/fork", json={"id": "copy"}).status_code == 201
        source, copy = calibration(service, "s"), calibration(service, "copy")
        assert (copy.factors, copy.doubt, copy.steps) == (source.factors, source.doubt, source.steps)
        assert (copy.base, copy.length) == (0, 0)


def test_lessons_are_the_means_that_the_engine_makes(service: Service) -> None:
    """Session by session, older ones fading."""
    expected = Lessons()
    for number in range(25):
        factor = 1 + number / 100
        state = State(factors=(factor, 1.0, 2 - factor), leaves=number / 30, root_reasoning=5.0, steps=8)
        lesson = Lesson(state.factors, state.leaves, state.root_reasoning)
        service.store.run(tenants.teach(service.tenant, MODEL, lesson, number))
        expected = learn(expected, state)
    record = service.store.run(tenants.load_tenant(service.tenant))
    assert record is not None
    found = record.lessons[MODEL]
    assert found.sessions == expected.sessions
    assert found.factors == pytest.approx(expected.factors)
    assert (found.leaves, found.root_reasoning) == pytest.approx((expected.leaves, expected.root_reasoning))


def test_a_tenant_keeps_lessons_on_so_many_models_only(service: Service) -> None:
    """The one not heard of for longest gives way."""
    lesson = Lesson((1.0, 1.0, 1.0), 0.0, 6.0)
    for number in range(tenants.MOST_MODELS + 3):
        service.store.run(tenants.teach(service.tenant, f"model-{number}", lesson, number))
    record = service.store.run(tenants.load_tenant(service.tenant))
    assert record is not None
    assert sorted(record.lessons) == sorted(f"model-{n}" for n in range(3, tenants.MOST_MODELS + 3))


def test_a_tenant_that_is_gone_is_not_made_again_by_a_lesson(service: Service) -> None:
    """Its hash may have been deleted meanwhile."""
    lesson = Lesson((1.0, 1.0, 1.0), 0.0, 6.0)
    service.store.run(tenants.teach(f"{service.tenant}-gone", MODEL, lesson, 1))
    assert service.store.run(tenants.load_tenant(f"{service.tenant}-gone")) is None
