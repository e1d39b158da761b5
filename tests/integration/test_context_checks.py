"""What an adoption does to the context besides the summary: huge texts shortened, the whole held against the rules."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from precompact.splice import apply_context
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Format
from precompact_shared.engine.validate import validate
from precompact_shared.policy import Policy, Validation
from precompact_shared.store import reading
from precompact_shared.store.tenants import save_policy
from tests.support.candidates import put, summary_message, view_of
from tests.support.service import Service
from tests.support.talk import assistant, user

Messages = list[dict[str, Any]]
HUGE = "first words " + "the log goes on and on; " * 9_400 + "last words"
EMPTY_PART: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": ""}]}


class Talk:
    """One session whose caller holds the list."""

    def __init__(self, http: httpx.Client, wire: Format) -> None:
        self.http, self.wire = http, wire
        self.messages: Messages = []
        self.version = 0

    def prepare(self, news: Messages, **options: Any) -> dict[str, Any]:
        """Sends news and takes over what the answer says."""
        seen = {"version": self.version, "length": len(self.messages)}
        self.messages += news
        body = {"format": self.wire, "window": 200_000, "max_output": 8_000, "seen": seen, "messages": news}
        response = self.http.post("/v1/sessions/s/prepare", json=body | options)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        self.version = answer["history_version"]
        return answer

    def adopt(self, cid: str) -> httpx.Response:
        """Adopts the candidate by hand."""
        response = self.http.post("/v1/sessions/s/adopt", json={"candidate": cid})
        self.version += response.status_code == 200
        return response

    def context(self) -> Messages:
        """What the model sees next, spliced from the own list; valid for its provider."""
        stated = self.prepare([])["context"]
        found = apply_context(self.messages, stated["insert"], stated["keep_from"], stated["edits"])
        assert validate(self.wire, found) == ()
        return found


def said(wire: Format, role: str, text: str) -> dict[str, Any]:
    """A message in each format."""
    if wire is Format.OPENAI_RESPONSES:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"role": role, "content": text}


def step(wire: Format, text: str) -> Messages:
    """A call with its result."""
    match wire:
        case Format.ANTHROPIC:
            use = {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "a.log"}}
            result = {"type": "tool_result", "tool_use_id": "c", "content": text}
            return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        case Format.OPENAI_CHAT:
            function = {"name": "Read", "arguments": "{}"}
            call: dict[str, Any] = {"id": "c", "type": "function", "function": function}
            asks = {"role": "assistant", "content": None, "tool_calls": [call]}
            return [asks, {"role": "tool", "tool_call_id": "c", "content": text}]
        case Format.OPENAI_RESPONSES:
            call = {"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"}
            return [call, {"type": "function_call_output", "call_id": "c", "output": text}]


def insert_of(wire: Format) -> Messages:
    """The summary as the preset brings it back."""
    text = summary_message("What happened so far.")["content"][0]["text"]
    return [said(wire, "user", text)]


@pytest.mark.parametrize("wire", list(Format))
def test_a_huge_text_in_the_kept_tail_is_shortened_at_adoption(
    service: Service, http: httpx.Client, wire: Format
) -> None:
    """In every format, with its address, and the session's size says what it saves; history has the whole text."""
    talk = Talk(http, wire)
    head = [said(wire, "user", "Find it. " * 400), said(wire, "assistant", "I will. " * 400)]
    tail = [said(wire, "user", "Read the log."), *step(wire, HUGE), said(wire, "assistant", "Read.")]
    before = talk.prepare([*head, *tail], adopt="never")["context"]["tokens"]
    cid = put(service, "s", upto=2, insert=insert_of(wire))
    covered = before - sum(count_message(wire, message, None) for message in tail)
    assert talk.adopt(cid).status_code == 200
    context = talk.context()
    shown = str(context[3])
    assert "first words" in shown
    assert "last words" in shown
    assert "[r:4] has the whole text" in shown
    assert len(shown) < 41_000
    assert context[4] == tail[-1]
    saved = count_message(wire, tail[2], None) - count_message(wire, context[3], None)
    assert saved > 25_000
    assert talk.prepare([])["context"]["tokens"] == before - covered + 20 - saved
    (record,) = service.store.run(reading.checkpoints(service.keys("s")))
    assert record.cleared == [(4, saved)]
    stored = http.get("/v1/sessions/s/history", params={"from": 4, "to": 5})
    assert HUGE[:2_000] in stored.text


def test_a_later_checkpoint_carries_a_shortened_text_on_and_a_rewrite_ends_it(
    service: Service, http: httpx.Client
) -> None:
    """As with cleared results."""
    talk = Talk(http, Format.OPENAI_CHAT)
    turns = [one for n in range(2) for one in (user(f"u{n} " * 400), assistant(f"a{n} " * 400))]
    talk.prepare([*turns, user("Log?"), *step(Format.OPENAI_CHAT, HUGE), assistant("Read.")], adopt="never")
    assert talk.adopt(put(service, "s", upto=2)).status_code == 200
    assert talk.adopt(put(service, "s", upto=4)).status_code == 200
    assert "[r:6] has the whole text" in str(talk.context()[3])
    small = view_of(service, "s").tokens
    fresh = {"role": "tool", "tool_call_id": "c", "content": "short now"}
    body = {"seen": {"version": talk.version, "length": 8}, "replace": {"seq": 6, "message": fresh}}
    response = http.post("/v1/sessions/s/rewind", json=body)
    assert response.status_code == 200, response.text
    talk.version, talk.messages[6] = response.json()["history_version"], fresh
    assert talk.context()[3] == fresh
    assert view_of(service, "s").tokens < small


def test_what_the_model_has_not_answered_stays_whole(service: Service, http: httpx.Client) -> None:
    """A user who pastes a long text wants it read."""
    talk = Talk(http, Format.OPENAI_CHAT)
    talk.prepare([user("a " * 400), assistant("b " * 400), user(HUGE)], adopt="never")
    assert talk.adopt(put(service, "s", upto=2)).status_code == 200
    assert talk.context()[-1] == user(HUGE)


@pytest.mark.parametrize(
    ("wanted", "status", "reason"), [(Validation.ALWAYS, 412, "invalid"), (Validation.OFF, 200, None)]
)
def test_a_policy_has_contexts_checked_before_they_are_adopted(
    service: Service, http: httpx.Client, wanted: Validation, status: int, reason: str | None
) -> None:
    """One that its provider would refuse is discarded as invalid, and the history stays what the model sees."""
    service.store.run(save_policy(service.tenant, Policy(validate_contexts=wanted)))
    talk = Talk(http, Format.ANTHROPIC)
    talk.prepare([user("a " * 400), assistant("b " * 400), user("c")], adopt="never")
    cid = put(service, "s", upto=2, insert=[EMPTY_PART])
    response = talk.adopt(cid)
    assert response.status_code == status, response.text
    if reason is None:
        return
    assert response.json()["reason"] == reason
    (record,) = service.store.run(reading.candidates(service.keys("s")))
    assert (record.state, record.reason) == ("closed", "invalid")
    assert talk.context() == talk.messages
    told = http.get("/metrics").text
    assert 'precompact_contexts_validated_total{outcome="invalid"}' in told


def test_a_context_that_keeps_the_rules_passes_the_check(service: Service, http: httpx.Client) -> None:
    """Also with what the history itself does wrong: the check asks for nothing the tail never had."""
    service.store.run(save_policy(service.tenant, Policy(validate_contexts=Validation.ALWAYS)))
    talk = Talk(http, Format.ANTHROPIC)
    broken = {"role": "user", "content": [{"type": "image", "source": {"type": "elsewhere"}}]}
    talk.prepare([user("a " * 400), assistant("b " * 400), broken, assistant("c"), user("d")], adopt="never")
    assert talk.adopt(put(service, "s", upto=2)).status_code == 200
