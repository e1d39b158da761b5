"""How it comes back: the messages that stand in for what is covered, and what the kept tail needs behind them.

History is never touched. The same input gives the same bytes, so that a prompt cache keeps its prefix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise, takewhile

from precompact_shared.engine.cut.safe import safe_positions
from precompact_shared.engine.cut.stretch import Stretch
from precompact_shared.engine.edits import apply_context
from precompact_shared.engine.formats import facts, plain_text, synthetic_result, user_message
from precompact_shared.engine.formats.anthropic import SERVER
from precompact_shared.engine.oversized import oversized_edits
from precompact_shared.engine.preset import Injection, Preset, StatePlace, SummaryPlace
from precompact_shared.engine.recognition import summary_preset
from precompact_shared.engine.retained import retained_texts
from precompact_shared.engine.types import Call, Edit, Entry, Facts, Format, Message, Role

_TAG = re.compile(r"<(?=/?conversation-summary\b)", re.IGNORECASE)
_OPENER = "The entries that follow were pinned and are kept word for word."
"""First message where the format wants a user turn before a pinned entry."""


def render_insert(
    format: Format,  # noqa: A002
    preset: Preset,
    summary_text: str,
    pinned: Sequence[Entry],
    *,
    covered: Sequence[Entry] = (),
    earlier: Sequence[Message] = (),
    state: Sequence[Message] = (),
    changing: Sequence[Message] = (),
    overflow_tail: Sequence[Entry] | None = None,
) -> tuple[Message, ...]:
    """The messages that take the place of `[0, upto)`, in the preset's order: pinned entries first.

    Then, as the preset wants it: the user texts it keeps of `covered` (entries since the last cut) and of `earlier`
    (the insert that this one replaces), the summary as a user message, an acknowledgement, `state` and
    `changing` (messages that say what is true now, already rendered: what hardly changes, and what does). `overflow_tail` (the kept tail, given when the provider refused the size) makes
    a preset that does so send the last request again, if the tail holds none.

    Valid in front of a tail that begins with an assistant or a user message, and alone. `pinned` has to hold whole
    units, as `pinned_entries` gives them. Blank `summary_text` (a fresh window) gives pinned entries and state alone.
    """
    kept = _pinned_messages(format, pinned)
    if not summary_text.strip():
        return (*kept, *state, *changing)
    rule = preset.injection
    by_itself = {entry.seq for entry in pinned}
    covered = [entry for entry in covered if entry.seq not in by_itself]
    earlier = [message for message in earlier if message not in kept]
    summary = (user_message(format, wrap(rule, summary_text)), *_acknowledged(format, preset))
    texts = retained_texts(format, covered, earlier, rule)
    placed = _placed(rule, summary, texts, tuple(state), tuple(changing))
    return (*kept, *placed, *_replayed(format, rule, covered, overflow_tail), *_continued(format, rule))


def _placed(
    rule: Injection,
    summary: tuple[Message, ...],
    texts: tuple[Message, ...],
    state: tuple[Message, ...],
    changing: tuple[Message, ...],
) -> tuple[Message, ...]:
    """Summary, kept user texts and state in the preset's order."""
    match rule.state_place:
        case StatePlace.AROUND_SUMMARY:
            summary = (*state, *summary, *changing)
        case StatePlace.BEHIND_SUMMARY:
            summary = (*summary, *state, *changing)
        case StatePlace.BEFORE_LAST_USER if not texts:
            summary = (*state, *changing, *summary)
        case StatePlace.BEFORE_LAST_USER:
            texts = (*texts[:-1], *state, *changing, texts[-1])
    match rule.place:
        case SummaryPlace.FIRST:
            return (*summary, *texts)
        case SummaryPlace.LAST:
            return (*texts, *summary)
        case SummaryPlace.BEFORE_LAST_USER:
            return (*texts[:-1], *summary, *texts[-1:])


def _replayed(
    wire: Format, rule: Injection, covered: Sequence[Entry], tail: Sequence[Entry] | None
) -> tuple[Message, ...]:
    if tail is None or not rule.replays_on_overflow:
        return ()
    if any(facts(wire, entry.message).user_turn for entry in tail):
        return ()
    requests = (entry.message for entry in reversed(covered) if _is_request(wire, entry.message))
    last = next((plain_text(wire, message) for message in requests), rule.replay_missing)
    return (user_message(wire, last),) if last.strip() else ()


def _is_request(wire: Format, message: Message) -> bool:
    known = facts(wire, message)
    return known.user_turn and not known.results and summary_preset(wire, message) is None


def _continued(wire: Format, rule: Injection) -> tuple[Message, ...]:
    return (user_message(wire, rule.continuation),) if rule.continuation else ()


def wrap(injection: Injection, summary_text: str) -> str:
    """The summary between its tags. A tag of ours inside it is defused: nothing in a summary can end the wrapper."""
    inner = _TAG.sub("‹", summary_text.strip())
    return f"{injection.opening}\n{injection.preface.strip()}\n\n{inner}\n{injection.closing}"


def pinned_entries(format: Format, entries: Sequence[Entry]) -> tuple[Entry, ...]:  # noqa: A002
    """What may never be covered of these entries: pinned ones and system text at the head.

    A pin on part of a unit (a result, an item behind its reasoning) holds the whole unit, or it could not be sent.
    """
    stretch = Stretch.of(format, entries)
    bounds = [*safe_positions(stretch), len(entries)]
    chosen: list[Entry] = []
    for start, stop in pairwise(bounds):
        if any(stretch.pinned(position) for position in range(start, stop)):
            chosen.extend(entries[start:stop])
    return tuple(chosen)


def tail_edits(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    preset: Preset | None = None,
) -> tuple[Edit, ...]:
    """What the kept tail needs behind a summary a client made: Anthropic's thinking goes (A11), nothing else.

    A message of thinking alone is left out as a whole. With a preset, texts that it finds too long to show are
    shortened, too.
    """
    shortened = oversized_edits(format, entries, preset.cut) if preset else ()
    if format is not Format.ANTHROPIC:
        return shortened
    thinking = (_without_parts(entry, facts(format, entry.message).thinking) for entry in entries)
    return merge_edits(entries, shortened, (edit for group in thinking for edit in group))


def repair_edits(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    *,
    given_up: Collection[str] = (),
) -> tuple[Edit, ...]:
    """What makes these entries sendable: no result without its call, no call that will never be answered.

    A result without a call is left out; a call that can no longer be answered gets a result that says so, behind
    the reply it belongs to. Calls at the end that still may be answered are left alone, but for those whose id is
    in `given_up`: their caller knows that no answer will come.
    """
    return _repairs(format, entries, given_up=given_up)


def context_edits(
    format: Format,  # noqa: A002
    entries: Sequence[Entry],
    preset: Preset | None = None,
    *,
    native: bool = False,
) -> tuple[Edit, ...]:
    """All edits of a kept tail behind a summary, merged: `tail_edits` and `repair_edits`.

    With a preset also those that shorten texts it finds too long to show. `native`: the tail follows a provider's
    block directly and unchanged, so thinking stays.
    """
    behind_summary = () if native else tail_edits(format, entries, preset)
    return merge_edits(entries, behind_summary, repair_edits(format, entries))


def has_open_thinking_loop(format: Format, entries: Sequence[Entry]) -> bool:  # noqa: A002
    """Whether the entries end inside a tool loop that has thinking in it: taking that away now is refused (A10)."""
    if format is not Format.ANTHROPIC:
        return False
    known = [facts(format, entry.message) for entry in entries]
    newest = next((one for one in reversed(known) if one.role is not Role.SYSTEM), Facts(Role.USER))
    if not _goes_on(newest):
        return False
    loop = takewhile(lambda one: one.results or not one.user_turn, reversed(known))
    return any(one.thinking for one in loop)


def _goes_on(newest: Facts) -> bool:
    """The model has not finished: its calls wait for results, or the results wait for it."""
    if newest.role is Role.ASSISTANT:
        return any(call.kind != SERVER for call in newest.calls)
    return bool(newest.results)


def merge_edits(entries: Sequence[Entry], *groups: Iterable[Edit]) -> tuple[Edit, ...]:
    """One list of edits without clashes, by `seq`, then part from the highest down, `after` last.

    A whole message left out takes its part edits with it; parts that together leave nothing to read leave the
    message out; messages put behind an entry stay, in the order of the groups.
    """
    by_seq = {entry.seq: entry for entry in entries}
    every = sorted((edit for group in groups for edit in group), key=lambda edit: edit.seq)
    merged = (
        edit
        for seq, edits in groupby(every, key=lambda edit: edit.seq)
        for edit in _merged(by_seq[seq], list(edits))
    )
    return tuple(merged)


def _merged(entry: Entry, edits: list[Edit]) -> Iterator[Edit]:
    behind = tuple(message for edit in edits for message in edit.after)
    whole = [edit for edit in edits if edit.part is None and not edit.after]
    if whole:
        yield whole[-1]
    else:
        parts = {edit.part: edit for edit in edits if edit.part is not None}
        yield from _part_edits(entry, parts)
    if behind:
        yield Edit(entry.seq, after=behind)


def _part_edits(entry: Entry, parts: dict[int, Edit]) -> Iterator[Edit]:
    if not parts:
        return
    removed = {part for part, edit in parts.items() if edit.value is None}
    rest = [one for index, one in enumerate(entry.message["content"]) if index not in removed]
    if removed and all(_is_blank(one) for one in rest):
        yield Edit(entry.seq)
        return
    yield from (parts[part] for part in sorted(parts, reverse=True))


def _without_parts(entry: Entry, parts: Iterable[int]) -> tuple[Edit, ...]:
    return merge_edits([entry], [Edit(entry.seq, part=part) for part in parts])


def _blank_edits(stretch: Stretch) -> Iterator[Edit]:
    """Anthropic refuses empty text; a message that says nothing is left out (A9)."""
    if stretch.format is not Format.ANTHROPIC:
        return
    for entry, known in zip(stretch.entries, stretch.facts, strict=True):
        if known.blank:
            yield Edit(entry.seq)
        elif isinstance(content := entry.message.get("content"), list):
            yield from (Edit(entry.seq, part=index) for index, part in enumerate(content) if _is_empty(part))


def _orphan_edits(stretch: Stretch) -> Iterator[Edit]:
    for position, result in stretch.pairing.orphans:
        yield Edit(stretch.entries[position].seq, part=result.part)


def _repairs(wire: Format, entries: Sequence[Entry], *, given_up: Collection[str] | None) -> tuple[Edit, ...]:
    """The repairs; `given_up` None takes every open call for one that no answer will come to."""
    stretch = Stretch.of(wire, entries)
    hopeless = [item for item in stretch.pairing.open if given_up is None or item[1].id in given_up]
    answers = _answer_edits(stretch, [*stretch.pairing.dead, *hopeless])
    return merge_edits(entries, _blank_edits(stretch), _orphan_edits(stretch), answers)


def _answer_edits(stretch: Stretch, calls: Iterable[tuple[int, Call]]) -> Iterator[Edit]:
    for position, call in calls:
        anchor = stretch.entries[_end_of_reply(stretch, position)]
        yield Edit(anchor.seq, after=(synthetic_result(stretch.format, call),))


def _end_of_reply(stretch: Stretch, position: int) -> int:
    """Where the reply that made a call ends. Chat wants results directly behind the message that called (C1).

    Never behind reasoning: what follows it, of whatever type, came with it (O4).
    """
    if stretch.format is Format.OPENAI_CHAT:
        return position
    following = takewhile(lambda p: stretch.facts[p].role is Role.ASSISTANT, range(position, len(stretch)))
    return max(p for p in following if not stretch.facts[p].reasoning)


def _is_empty(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and part.get("text") == ""


def _is_blank(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text")).strip()


def _pinned_messages(wire: Format, pinned: Sequence[Entry]) -> tuple[Message, ...]:
    """The pinned entries, made sendable by themselves: no thinking behind a gap, no call without a result."""
    entries = [Entry(place, entry.message, entry.tokens) for place, entry in enumerate(pinned)]
    edits = merge_edits(entries, tail_edits(wire, entries), _repairs(wire, entries, given_up=None))
    messages = apply_context([entry.message for entry in entries], (), 0, edits)
    return tuple(_opened(wire, messages))


def _opened(wire: Format, messages: Iterable[Message]) -> Iterator[Message]:
    """Anthropic wants a user turn first and in front of system text (A2, A16): where there is none, one is made."""
    behind: str | None = None
    for message in messages:
        role = str(message.get("role"))
        lacks_user = role != "user" and (behind is None or role == "system") and behind != "user"
        if wire is Format.ANTHROPIC and lacks_user:
            yield user_message(wire, _OPENER)
        yield message
        behind = role


def _acknowledged(wire: Format, preset: Preset) -> tuple[Message, ...]:
    text = preset.injection.acknowledgement
    if not text:
        return ()
    if wire is Format.OPENAI_RESPONSES:
        return ({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},)
    return ({"role": "assistant", "content": text},)
