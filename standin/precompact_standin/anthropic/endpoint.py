"""`POST /v1/messages`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from precompact_standin.answers import Answer
from precompact_standin.anthropic.binding import sign_compaction, sign_thinking
from precompact_standin.anthropic.errors import error_events, limited
from precompact_standin.anthropic.headers import limit_headers
from precompact_standin.anthropic.prompt import instruction_piece, pieces, texts_of
from precompact_standin.anthropic.reading import Ready, ready
from precompact_standin.anthropic.request import Request, blocks_of
from precompact_standin.anthropic.usage import compaction_usage, entry, message_usage
from precompact_standin.anthropic.writing import written
from precompact_standin.caching import CachePlan, Piece, Place, fingerprint
from precompact_standin.refusal import Refusal
from precompact_standin.saying import Asked, Ending, Said
from precompact_standin.state import Call, State
from precompact_standin.summarising import Spoken

DEFAULT_PROMPT = "Summarize the conversation so that the work can go on without it."
STOP_REASONS = {
    Ending.DONE: "end_turn",
    Ending.CALLS: "tool_use",
    Ending.LENGTH: "max_tokens",
    Ending.REFUSED: "refusal",
    Ending.FILTERED: "refusal",
    Ending.PAUSED: "pause_turn",
    Ending.STOPPED: "stop_sequence",
    Ending.WINDOW: "model_context_window_exceeded",
    Ending.FAILED: "end_turn",
}


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of the model over a prompt: what it cost and what it said."""

    plan: CachePlan
    said: Said


def messages(state: State, call: Call) -> Answer:
    """A reply, a signed compaction, or a reply with a threshold compaction before it."""
    request, prepared = ready(state, call)
    exchange = Exchange(state, call, request, prepared)
    if request.compacts:
        body, passes = exchange.compaction()
    elif prepared.compacts_at is not None:
        body, passes = exchange.threshold(prepared.compacts_at)
    else:
        body, passes = exchange.reply()
    return exchange.answer(body, passes)


@dataclass
class Exchange:
    """A request on its way to an answer."""

    state: State
    call: Call
    request: Request
    ready: Ready

    def compaction(self) -> tuple[dict[str, Any], list[Pass]]:
        """On demand: the block alone, or nothing with the reason in `stop_reason`."""
        prompt = str(self.request.body["compaction"].get("instructions") or "").strip() or DEFAULT_PROMPT
        done = self._run(self.ready.messages, prompt, self.request.body["max_tokens"])
        finished = done.said.ending is Ending.DONE and done.said.text.strip()
        content = [self._signed_block(done.said.text)] if finished else []
        reason = "compaction" if finished else STOP_REASONS[done.said.ending]
        usage = compaction_usage([entry("compaction", done.plan, done.said.tokens)])
        return self._message(content, reason, usage, done.said), [done]

    def threshold(self, edit: dict[str, Any]) -> tuple[dict[str, Any], list[Pass]]:
        """In band: an unsigned block, then the reply over it unless a pause was asked for."""
        prompt = edit.get("instructions") or DEFAULT_PROMPT
        first = self._run(self.ready.messages, prompt, 4_096)
        failed = first.said.ending is not Ending.DONE or not first.said.text.strip()
        block = {"type": "compaction", "content": None if failed else first.said.text}
        iterations = [entry("compaction", first.plan, first.said.tokens)]
        if edit.get("pause_after_compaction"):
            usage = compaction_usage(iterations)
            return self._message([block], "compaction", usage, first.said), [first]
        opening = {"role": "assistant", "content": [block]}
        rest = self.ready.messages if failed else [opening, *_newest_turn(self.ready.messages)]
        then = self._run(rest, "", self.request.body["max_tokens"], spoiled=not failed)
        iterations.append(entry("message", then.plan, then.said.tokens))
        usage = message_usage(then.plan, then.said, iterations)
        content = [block, *self._content(then.said)]
        return self._message(content, STOP_REASONS[then.said.ending], usage, then.said), [first, then]

    def reply(self) -> tuple[dict[str, Any], list[Pass]]:
        """An ordinary reply; `max_tokens` 0 warms the cache and says nothing."""
        done = self._run(self.ready.messages, "", self.request.body["max_tokens"])
        usage = message_usage(done.plan, done.said, [])
        return self._message(self._content(done.said), STOP_REASONS[done.said.ending], usage, done.said), [
            done
        ]

    def answer(self, body: dict[str, Any], passes: list[Pass]) -> Answer:
        """What goes out; the cache is written when it begins."""
        tokens = sum(done.said.tokens for done in passes)
        who = f"{self.call.workspace}/{self.request.model.name}"
        uncached = sum(done.plan.uncached + done.plan.written for done in passes)
        verdict = self.state.limiter.admit(
            who, input_tokens=uncached, max_output=self.request.body["max_tokens"]
        )
        headers = limit_headers(verdict.readings, self.state.now_s())
        if verdict.short_of is not None:
            raise limited(verdict, headers)
        self.state.limiter.charge_output(who, tokens)
        self.call.facts["usage"] = body["usage"]
        self.call.facts["stop_reason"] = body["stop_reason"]

        def begin() -> None:
            for done in passes:
                self.state.cache.commit(done.plan)

        stream = bool(self.request.body.get("stream"))
        errors = error_events(self.call.fault)
        answer = written(body, stream=stream, errors=errors, on_begin=begin, tokens=tokens)
        return answer.with_headers(headers)

    def _run(
        self, messages: list[dict[str, Any]], prompt: str, max_tokens: int, *, spoiled: bool = True
    ) -> Pass:
        parts = pieces(self.request, messages, self.state.counter)
        if prompt:
            parts.append(instruction_piece(prompt, self.request, self.state.counter))
        plan = self.state.cache.look_up(parts, self._place())
        room = self._room(parts)
        said = self.state.speaker.say(
            self._asked(messages, prompt, max_tokens, room),
            self.request.model,
            fault=self.call.fault if spoiled else None,
            reply=self.call.reply,
        )
        return Pass(plan, said)

    def _room(self, parts: list[Piece]) -> int:
        total, window = sum(part.tokens for part in parts), self.request.model.window
        if total > window:
            raise Refusal(f"prompt is too long: {total} tokens > {window} maximum")
        return window - total

    def _place(self) -> Place:
        seed = fingerprint(self.call.workspace, self.request.model.name)
        return Place(seed, self.request.model.cache_min_tokens)

    def _asked(self, messages: list[dict[str, Any]], prompt: str, max_tokens: int, room: int) -> Asked:
        body = self.request.body
        said = [
            Spoken(str(message["role"]), text)
            for message in messages
            for block in blocks_of(message["content"])
            for text in texts_of(block)
        ]
        newest = [text for block in blocks_of(messages[-1]["content"]) for text in texts_of(block)]
        thinking = (body.get("thinking") or {}).get("type", "disabled")
        return Asked(
            said,
            prompt or (newest[-1] if newest and messages[-1]["role"] == "user" else ""),
            "\n".join(str(block.get("text")) for block in blocks_of(body.get("system"))),
            max_tokens,
            room,
            thinks=thinking in {"enabled", "adaptive"} and not prompt,
            tools=[str(tool.get("name")) for tool in body.get("tools") or []],
            always_summary=bool(prompt),
            stops=() if prompt else body.get("stop_sequences") or (),
        )

    def _content(self, said: Said) -> list[dict[str, Any]]:
        if said.thinking and said.thinking_tokens:
            signature = sign_thinking(self.request, said.thinking)
            thinking = [{"type": "thinking", "thinking": said.thinking, "signature": signature}]
        else:
            thinking = []
        text = [{"type": "text", "text": said.text}] if said.text else []
        calls = [
            {"type": "tool_use", "id": self.state.next_id("toolu"), "name": call.name, "input": call.input}
            for call in said.calls
        ]
        return [*thinking, *text, *calls]

    def _signed_block(self, text: str) -> dict[str, Any]:
        return {"type": "compaction", "content": text, "signature": sign_compaction(self.request, text)}

    def _message(
        self, content: list[dict[str, Any]], reason: str, usage: dict[str, Any], said: Said
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "id": self.state.next_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": self.request.model.name,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": said.code if reason == "stop_sequence" else None,
            "usage": usage,
        }
        if reason == "refusal":
            explanation = "The request was declined."
            details = {"type": "refusal", "category": said.code or None, "explanation": explanation}
            body["stop_details"] = details
        if self.request.body.get("context_management"):
            body["context_management"] = {"applied_edits": self.ready.applied}
        if self.ready.dropped:
            body["input_transformations"] = self.ready.dropped
        return body


def _newest_turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last message alone, made the user's: what the model still answers behind its own summary."""
    return [message for message in messages[-1:] if message["role"] == "user"]
