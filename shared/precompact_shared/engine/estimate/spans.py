"""What came after a report, folded into a few sums: the cost of one more entry does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import reduce
from typing import Generic, TypeAlias

import msgspec

from precompact_shared.engine.estimate.loads import Load, Piece, PieceOf, Side
from precompact_shared.engine.estimate.masses import W


class Turn(StrEnum):
    """Whether a genuine user message came, and where."""

    NONE = "none"
    STEERED = "steered"
    """Behind a result: the model's turn goes on, and its reasoning mostly stays."""
    ENDED = "ended"
    """Behind a reply: a new turn began, at which models drop the reasoning of the one before."""


class SpanOf(msgspec.Struct, Generic[W], frozen=True):
    """Entries after a report, in order, weighed in one way. `extend` builds it; serialisable as it is."""

    total: W
    lead: W
    """The reply that the report belongs to, as long as it comes first."""
    late: W
    """What came since the last turn began; all of it without one."""
    open_load: W
    """What the entries weigh whose calls are in `open_ids`."""
    turn: Turn = Turn.NONE
    last: Side | None = None
    leading: bool = True
    open_ids: tuple[str, ...] = ()
    """Calls without a result so far."""


Span: TypeAlias = SpanOf[Load]

EMPTY: Span = SpanOf(Load(), Load(), Load(), Load())


def span_of(pieces: Iterable[Piece]) -> Span:
    """The span of these entries; folding them in any number of batches gives the same."""
    return reduce(extend, pieces, EMPTY)


def extend(span: SpanOf[W], piece: PieceOf[W]) -> SpanOf[W]:
    """The span with one more entry behind it.

    An entry whose calls are still unanswered when the user speaks counts no longer: no provider takes it, so clients
    leave it out.
    """
    if piece.side is Side.USER and span.open_ids and not piece.result_ids:
        span = _without_open(span)
    load = _answered(piece.load) if piece.side is Side.REPLY and span.last is not Side.REPLY else piece.load
    leading = span.leading and piece.side is Side.REPLY
    turn, late = _turned(span, piece)
    open_ids, open_load = _opened(span, piece, load)
    return SpanOf(
        total=span.total + load,
        lead=span.lead + load if leading else span.lead,
        late=late + load,
        turn=turn,
        last=_last(span, piece),
        leading=leading,
        open_ids=open_ids,
        open_load=open_load,
    )


def _answered(load: W) -> W:
    return msgspec.structs.replace(load, replies=load.replies + 1)


def _last(span: SpanOf[W], piece: PieceOf[W]) -> Side:
    """System text behind a reply belongs to the turn that the next user message begins."""
    return Side.REPLY if piece.side is Side.SYSTEM and span.last is Side.REPLY else piece.side


def _turned(span: SpanOf[W], piece: PieceOf[W]) -> tuple[Turn, W]:
    if piece.side is not Side.USER or span.last is Side.USER:
        return span.turn, span.late
    if span.last is Side.REPLY:
        return Turn.ENDED, span.late - span.late
    return (Turn.STEERED if span.turn is Turn.NONE else span.turn), span.late


def _opened(span: SpanOf[W], piece: PieceOf[W], load: W) -> tuple[tuple[str, ...], W]:
    left = tuple(one for one in span.open_ids if one not in piece.result_ids) + piece.call_ids
    if not left:
        return (), load - load if span.open_ids else span.open_load
    return left, span.open_load + load if piece.call_ids else span.open_load


def _without_open(span: SpanOf[W]) -> SpanOf[W]:
    dead = msgspec.structs.replace(span.open_load, replies=0, thoughts=0)
    lead = span.lead - dead if span.leading else span.lead
    return msgspec.structs.replace(
        span,
        total=span.total - dead,
        late=span.late - dead,
        lead=lead,
        open_ids=(),
        open_load=dead - dead,
    )
