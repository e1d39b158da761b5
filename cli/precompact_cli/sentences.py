"""The service's records in words: one line for each decision, job and candidate. Codes without words show as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

Record = Mapping[str, Any]

REASONS = {
    "at_hard": "the hard limit was reached",
    "paused": "the tenant is paused",
    "thrash": "compactions followed each other too quickly",
    "breaker_open": "a breaker is open",
    "in_flight": "a job for this session was already under way",
    "limit_reached_while_in_flight": "the limit came near while a job was waiting, so it was hurried",
    "nothing_new_since_the_last_try": "the last try found nothing to compact and little came since",
    "limit_reached": "the limit was reached",
    "candidate_no_longer_fits": "the candidate with what came since would not fit below the limit",
    "candidate_would_be_too_old_at_the_limit": "the candidate would be too old by the time the limit is reached",
    "candidate_ready": "a candidate is ready and waits for the limit",
    "start_point_passed": "the start point was passed",
    "background_off": "the policy allows no work before the limit",
    "cache_about_to_expire": "the prompt cache was about to expire",
    "below_minimum": "the session is smaller than the least size for background work",
    "below_start_point": "the session is below the start point",
    "version_changed": "the history it was made from was rewritten",
    "not_smaller": "it would not have been smaller",
    "not_ahead": "it covers no more than the current checkpoint",
    "invalid": "the provider would not have taken it",
    "instructions_changed": "the instructions or tools changed",
    "instructions_unknown": "the instructions and tools that the call names have not been sent yet",
    "superseded": "a newer one took its place",
    "declined": "the caller declined it",
    "barred": "it was reverted before and may not come back",
    "expired": "it waited too long",
    "deleted": "the session was deleted",
    "all_fits": "everything fits the part that is kept word for word",
    "one_turn": "all there is is the newest turn",
    "no_safe_cut": "there was no place where a cut is allowed",
    "open_call": "a call was still waiting for its result",
    "only_pinned": "all that could be covered is pinned",
}


CHOICES = {
    "cheaper": "it was the cheaper way",
    "cold": "the prefix would be cheaper, but is not in the cache",
    "asked_for": "the policy says so",
    "price_unknown": "nobody knows a price",
    "prefix_unknown": "the caller has not sent its `prefix`",
    "masked": "secrets are masked",
    "other_content": "the live prefix holds something else",
}


def in_words(reason: Any) -> str:
    """A reason code in words."""
    code = str(reason or "")
    if code.startswith("window_unknown"):
        return "the window is unknown; send `window` with the session, or name the model in the policy's `windows`"
    return REASONS.get(code, code.replace("_", " ") or "no reason was recorded")


def tell(record: Record) -> str:
    """One decision, adoption or refusal as a sentence with its facts."""
    told = _KINDS.get(str(record.get("kind")), _unknown)(record)
    return f"{at(record)}  {told}"


def at(record: Record) -> str:
    """When, in UTC, and at which state of the session."""
    when = datetime.fromtimestamp(float(record.get("at_ms") or 0) / 1000, tz=UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}  v{record.get('version', '?')} length {record.get('length', '?')}"


def sum_up(decisions: list[Record], session: Record) -> str:
    """Why things are as they are now, in one sentence."""
    newest = next((record for record in decisions if record.get("kind") == "decided"), None)
    if newest is None:
        return "No scheduler has decided about this session yet: is one running, and did the session grow?"
    if newest.get("action") == "none":
        return f"Nothing new is being prepared: {in_words(newest.get('reason'))}. {_sizes(newest)}".rstrip()
    kind = newest.get("job_kind") or "compaction"
    generation = session.get("checkpoint_n") or session.get("generation")
    adopted = f" {generation} compactions were adopted so far." if generation else ""
    return f"The last decision asked for a {kind} job: {in_words(newest.get('reason'))}. {_sizes(newest)}{adopted}"


def tell_job(job: Record) -> str:
    """A job as a line."""
    reason = f": {in_words(job['reason'])}" if job.get("reason") else ""
    name = job.get("jid") or job.get("id")
    told = f"{job.get('kind', '?')} job {name} is {job.get('state', '?')}, attempt {job.get('attempt', 0)}{reason}"
    chosen = [call["choice"] for call in job.get("calls") or () if call.get("choice")]
    return f"{told}; {tell_choice(chosen[-1])}" if chosen else told


def tell_choice(choice: Record) -> str:
    """How a summary was asked for, why, and what either way was reckoned to cost."""
    way = "on the live prefix" if choice.get("mode") == "prefix" else "as a transcript"
    prices = [
        f"{name} ${float(usd):.4f}"
        for name, usd in (("prefix", choice.get("prefix_usd")), ("transcript", choice.get("transcript_usd")))
        if isinstance(usd, int | float)
    ]
    priced = f" ({', '.join(prices)})" if prices else ""
    return f"asked {way}: {CHOICES.get(str(choice.get('reason')), choice.get('reason'))}{priced}"


def tell_candidate(candidate: Record) -> str:
    """A candidate as a line."""
    reason = f": {in_words(candidate['reason'])}" if candidate.get("reason") else ""
    name = candidate.get("cid") or candidate.get("id")
    return (
        f"candidate {name} is {candidate.get('state', 'open')}, covers entries 0 to {int(candidate.get('upto', 1)) - 1}, "
        f"{_number(candidate, 'tokens_before')} to {_number(candidate, 'tokens_after')} tokens{reason}"
    )


def _decided(record: Record) -> str:
    why = in_words(record.get("reason"))
    if record.get("action") == "none":
        return f"nothing was done: {why}. {_sizes(record)}".rstrip()
    if record.get("action") == "hurry":
        return f"the waiting job was hurried: {why}. {_sizes(record)}".rstrip()
    return f"a {record.get('job_kind', 'new')} job was asked for: {why}. {_sizes(record)}".rstrip()


def _sizes(record: Record) -> str:
    known = [
        f"{label} {int(record[name]):,}"
        for name, label in (
            ("tokens", "size"),
            ("start", "start point"),
            ("limit", "limit"),
            ("hard", "hard"),
        )
        if isinstance(record.get(name), int | float)
    ]
    return f"({', '.join(known)} tokens)" if known else ""


def _claimed(record: Record) -> str:
    return f"{record.get('job_kind', 'a')} job {record.get('jid')} was claimed"


def _hurried(record: Record) -> str:
    return f"job {record.get('jid')} became {record.get('job_kind', 'due')}: the limit was reached while it was under way"


def _stored(record: Record) -> str:
    floor = ", the deterministic one for the hard limit" if record.get("slot") == "floor" else ""
    return (
        f"a candidate was stored{floor}: covers entries 0 to {int(record.get('upto', 1)) - 1}, "
        f"{_number(record, 'tokens_before')} to {_number(record, 'tokens_after')} tokens"
    )


def _adopted(record: Record) -> str:
    return f"checkpoint {record.get('n')} was adopted: entries 0 to {int(record.get('upto', 1)) - 1} are covered now"


def _closed(record: Record) -> str:
    return f"candidate {record.get('cid')} was discarded: {in_words(record.get('reason'))}"


def _refused(record: Record) -> str:
    return f"what job {record.get('jid')} brought was refused: {in_words(record.get('reason'))}"


def _finished(record: Record) -> str:
    return f"job {record.get('jid')} ended ({record.get('action')}): {in_words(record.get('reason'))}"


def _reverted(record: Record) -> str:
    return f"checkpoint {record.get('n')} was taken back; its candidate is barred"


def _unknown(record: Record) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in record.items() if name not in {"at_ms", "kind"})
    return f"{record.get('kind', 'something')}: {facts}"


def _number(record: Record, name: str) -> str:
    value = record.get(name)
    return f"{value:,}" if isinstance(value, int) else "?"


_KINDS: dict[str, Callable[[Record], str]] = {
    "decided": _decided,
    "claimed": _claimed,
    "hurried": _hurried,
    "stored": _stored,
    "adopted": _adopted,
    "closed": _closed,
    "refused": _refused,
    "finished": _finished,
    "reverted": _reverted,
}
