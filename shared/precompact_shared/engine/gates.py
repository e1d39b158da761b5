"""May this candidate be adopted now? Design rules 7, 8, 11 and 13 as two short lists of gates.

Hard gates hold always and *discard* for good, soft gates hold below the limit and *defer*: at the limit, on overflow
and on request a slow summariser must not starve a fast session. The digest of the covered prefix is compared by the
store inside the adoption itself; here the caller's view is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from precompact_shared.engine.limits import Limits, margin_tokens
from precompact_shared.engine.preset import Preset

FLOOR_SLOT = "floor"
MANUAL_SLOT = "manual"
WORTH_LIMIT_SHARE = 0.05
"""At the soft limit an adoption saves at least this share of it (or the preset's least), unless it gets below it."""


class Candidate(Protocol):
    """What is asked of a candidate; the store's `CandidateTag` has it all."""

    @property
    def version(self) -> int: ...  # noqa: D102
    @property
    def upto(self) -> int: ...  # noqa: D102
    @property
    def through(self) -> int: ...  # noqa: D102
    @property
    def slot(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def tokens_before(self) -> int: ...  # noqa: D102
    @property
    def tokens_after(self) -> int: ...  # noqa: D102
    @property
    def tokens_at_snapshot(self) -> int: ...  # noqa: D102


class Session(Protocol):
    """What is asked of a session; the store's `SessionView` has it all."""

    @property
    def version(self) -> int: ...  # noqa: D102
    @property
    def upto(self) -> int: ...  # noqa: D102
    @property
    def tokens(self) -> int: ...  # noqa: D102
    @property
    def anchored(self) -> bool: ...  # noqa: D102
    @property
    def overhead(self) -> int: ...  # noqa: D102
    @property
    def context_tokens(self) -> int: ...  # noqa: D102


class Mode(StrEnum):
    """How near the limit a request is, and whether somebody asked."""

    BELOW_LIMIT = "below_limit"
    AT_LIMIT = "at_limit"
    HARD = "hard"
    OVERFLOW = "overflow"
    """The provider refused this size."""
    REQUESTED = "requested"
    """The caller said adopt."""


class Action(StrEnum):
    """What to do with the candidate."""

    ADOPT = "adopt"
    DEFER = "defer"
    DISCARD = "discard"


class Discard(StrEnum):
    """Why a candidate is closed for good. The list is closed."""

    VERSION_CHANGED = "version_changed"
    NOT_SMALLER = "not_smaller"
    NOT_AHEAD = "not_ahead"
    INVALID = "invalid"
    INSTRUCTIONS_CHANGED = "instructions_changed"
    SUPERSEDED = "superseded"
    DECLINED = "declined"
    BARRED = "barred"
    EXPIRED = "expired"
    DELETED = "deleted"


class Defer(StrEnum):
    """Why a candidate is kept for later."""

    OPEN_CALL = "open_call"
    """A call in front of the boundary still waits for its result."""
    OPEN_THINKING = "open_thinking"
    """Thinking inside a tool loop that has not ended goes back as it was, as long as the request fits."""
    FLOOR = "floor"
    """The deterministic candidate is for `hard` and overflow, once the wait is spent."""
    MANUAL_RUNNING = "manual_running"
    CACHE_WARM = "cache_warm"
    """Below the limit with a warm prompt cache it does not pay."""
    GROWTH = "growth"
    SAVING = "saving"
    PROJECTED_SIZE = "projected_size"
    DOES_NOT_FIT = "does_not_fit"
    INSTRUCTIONS_UNKNOWN = "instructions_unknown"
    """Native candidates: the call names a system prompt and tools whose content has not come yet."""


class Pays(StrEnum):
    """Why it is adopted now (rule 11)."""

    LIMIT = "limit"
    CACHE_COLD = "cache_cold"
    REQUESTED = "requested"
    OVERFLOW = "overflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the numbers do not tell; found by the caller outside of the store."""

    valid: bool = True
    """The projected context passes the provider's rules."""
    open_call: bool = False
    """A call in `[0, upto)` waits for its result."""
    open_thinking: bool = False
    """The kept tail ends in an open tool loop that holds thinking."""
    cache_cold: bool = False
    """The provider's prompt cache has gone cold anyway."""
    wait_spent: bool = True
    """Nothing is left of the time the caller would wait for the full candidate."""
    manual_running: bool = False
    same_family: bool = True
    """Native candidates: made for the model family at hand."""
    same_instructions: bool | None = True
    """Native candidates: tools and system prompt are still those it was made with; None: that will be known when they come."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do and why; the three sizes are kept with the decision."""

    action: Action
    reason: Discard | Defer | Pays
    growth_tokens: int
    saving_tokens: int
    projected_tokens: int


@dataclass(frozen=True, slots=True)
class _Case:
    candidate: Candidate
    session: Session
    preset: Preset
    limits: Limits
    window: int
    mode: Mode
    now: Circumstances

    @property
    def growth(self) -> int:
        return max(0, self.session.tokens - self.candidate.tokens_at_snapshot)

    @property
    def saving(self) -> int:
        return self.candidate.tokens_before - self.candidate.tokens_after

    @property
    def projected(self) -> int:
        """The size after the adoption. What is saved counts in the provider's tokens where it reported more than we reckon."""
        return self.session.tokens - round(self.saving * self._counted_by_reckoned)

    @property
    def _counted_by_reckoned(self) -> float:
        session = self.session
        if not session.anchored or session.context_tokens <= 0:
            return 1.0
        return max(1.0, (session.tokens - session.overhead) / session.context_tokens)


def mode_of(tokens: int, limits: Limits, *, requested: bool = False, overflow: bool = False) -> Mode:
    """The mode of a request of this size; a refusal counts more than a size, a size more than a wish."""
    if overflow:
        return Mode.OVERFLOW
    if tokens >= limits.hard:
        return Mode.HARD
    if limits.reached(tokens):
        return Mode.AT_LIMIT
    return Mode.REQUESTED if requested else Mode.BELOW_LIMIT


def judge(
    candidate: Candidate,
    session: Session,
    *,
    preset: Preset,
    limits: Limits,
    window: int,
    mode: Mode,
    circumstances: Circumstances | None = None,
) -> Verdict:
    """Adopt, defer or discard, by the first gate that does not open. Window and sizes in tokens."""
    case = _Case(candidate, session, preset, limits, window, mode, circumstances or Circumstances())
    for hard in HARD_GATES:
        if (discarded := hard(case)) is not None:
            return _verdict(case, Action.DISCARD, discarded)
    soft = SOFT_GATES if mode is Mode.BELOW_LIMIT else ()
    for gate in (*BOUNDARY_GATES, *soft, _gate_worth, _gate_fits):
        if (deferred := gate(case)) is not None:
            return _verdict(case, Action.DEFER, deferred)
    return _verdict(case, Action.ADOPT, _pays(mode))


def _verdict(case: _Case, action: Action, reason: Discard | Defer | Pays) -> Verdict:
    return Verdict(action, reason, case.growth, case.saving, case.projected)


def _pays(mode: Mode) -> Pays:
    match mode:
        case Mode.BELOW_LIMIT:
            return Pays.CACHE_COLD
        case Mode.REQUESTED:
            return Pays.REQUESTED
        case Mode.OVERFLOW:
            return Pays.OVERFLOW
        case _:
            return Pays.LIMIT


def _gate_version(case: _Case) -> Discard | None:
    return Discard.VERSION_CHANGED if case.candidate.version != case.session.version else None


def _gate_ahead(case: _Case) -> Discard | None:
    # Clearing keeps its base's `upto`; that it adds an edit is seen when it is made.
    if case.candidate.kind == "clearing":
        ahead = case.candidate.through > 0 and case.candidate.upto >= case.session.upto
    else:
        ahead = case.candidate.upto > case.session.upto
    return None if ahead else Discard.NOT_AHEAD


def _gate_smaller(case: _Case) -> Discard | None:
    return None if case.saving > 0 else Discard.NOT_SMALLER


def _gate_instructions(case: _Case) -> Discard | None:
    native = case.candidate.kind == "native"
    kept = case.now.same_family and case.now.same_instructions is not False
    return Discard.INSTRUCTIONS_CHANGED if native and not kept else None


def _gate_unknown_instructions(case: _Case) -> Defer | None:
    is_unknown = case.candidate.kind == "native" and case.now.same_instructions is None
    return Defer.INSTRUCTIONS_UNKNOWN if is_unknown else None


def _gate_valid(case: _Case) -> Discard | None:
    return None if case.now.valid else Discard.INVALID


def _gate_open_call(case: _Case) -> Defer | None:
    return Defer.OPEN_CALL if case.now.open_call else None


def _gate_open_thinking(case: _Case) -> Defer | None:
    # A loop may outlast the window: where the request would not fit, all thinking goes instead (ADR 0008).
    pressing = case.mode in (Mode.HARD, Mode.OVERFLOW)
    client_made = case.candidate.kind != "native"
    return Defer.OPEN_THINKING if case.now.open_thinking and client_made and not pressing else None


def _gate_floor(case: _Case) -> Defer | None:
    if case.candidate.slot != FLOOR_SLOT:
        return None
    last_resort = case.mode in (Mode.HARD, Mode.OVERFLOW) and case.now.wait_spent
    return None if last_resort else Defer.FLOOR


def _gate_manual(case: _Case) -> Defer | None:
    if not case.now.manual_running or case.candidate.slot == MANUAL_SLOT:
        return None
    pressing = case.mode in (Mode.AT_LIMIT, Mode.HARD, Mode.OVERFLOW) and case.now.wait_spent
    return None if pressing else Defer.MANUAL_RUNNING


def _gate_pays(case: _Case) -> Defer | None:
    return None if case.now.cache_cold else Defer.CACHE_WARM


def _gate_growth(case: _Case) -> Defer | None:
    return Defer.GROWTH if case.growth > case.limits.growth_max else None


def _gate_saving(case: _Case) -> Defer | None:
    return Defer.SAVING if case.saving < case.preset.saving_min(case.session.tokens) else None


def _gate_worth(case: _Case) -> Defer | None:
    """At the limit too: an adoption that saves next to nothing costs the prompt cache and will come again at once."""
    if case.mode is not Mode.AT_LIMIT or case.projected < case.limits.limit:
        return None
    least = min(case.preset.adoption.saving_min_tokens, round(WORTH_LIMIT_SHARE * case.limits.limit))
    return Defer.SAVING if case.saving < least else None


def _gate_projected(case: _Case) -> Defer | None:
    room = case.limits.limit - margin_tokens(case.preset, case.window)
    return Defer.PROJECTED_SIZE if case.projected > room else None


def _gate_fits(case: _Case) -> Defer | None:
    return None if case.projected < case.limits.hard else Defer.DOES_NOT_FIT


HARD_GATES: tuple[Callable[[_Case], Discard | None], ...] = (
    _gate_version,
    _gate_ahead,
    _gate_smaller,
    _gate_instructions,
    _gate_valid,
)
BOUNDARY_GATES: tuple[Callable[[_Case], Defer | None], ...] = (
    _gate_unknown_instructions,
    _gate_open_call,
    _gate_open_thinking,
    _gate_floor,
    _gate_manual,
)
SOFT_GATES: tuple[Callable[[_Case], Defer | None], ...] = (
    _gate_pays,
    _gate_growth,
    _gate_saving,
    _gate_projected,
)
