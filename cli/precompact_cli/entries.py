"""A recording's messages as the engine takes them: each weighed once, as the service weighs what it is sent."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from precompact_cli.recording import Recording
from precompact_shared.engine.estimate import Piece, Rates, load_of, rates_of
from precompact_shared.engine.estimate.weighing import entry_tokens, mass_of
from precompact_shared.engine.types import Entry

MOST_OF_A_CONTEXT = 20_000
"""A longer history is no context: where it would be cut, or what clearing would save of it, says nothing."""


class Entries(Sequence[Entry]):
    """The conversation's messages with their places and sizes. Messages are not held, only what they weigh."""

    def __init__(self, recording: Recording) -> None:
        """Counts every text once; about a second for a million characters."""
        self._messages = recording.messages
        self._newest: Entry | None = None
        """The one read last: who goes through them looks at each more than once."""
        self.rates: Rates = rates_of(recording.format, recording.model)
        """Of the model's family; sizes are by these."""
        self.pieces: Sequence[Piece] = tuple(load_of(recording.format, one) for one in recording.messages)
        """What each weighs by kind, before any rates."""
        self._tokens = array(
            "q", (entry_tokens(self.rates, mass_of(self.rates, one.load)) for one in self.pieces)
        )

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        places = range(len(self))[place]
        if isinstance(places, range):
            return [self._entry(one) for one in places]
        return self._entry(places)

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, range(len(self)))

    @property
    def sizes(self) -> Sequence[int]:
        """Tokens of each."""
        return self._tokens

    @property
    def total(self) -> int:
        """All of them in tokens."""
        return sum(self._tokens)

    @property
    def upto(self) -> list[int]:
        """Tokens of the first n, for n from 0."""
        return list(accumulate(self._tokens, initial=0))

    def _entry(self, place: int) -> Entry:
        if self._newest is None or self._newest.seq != place:
            self._newest = None  # a large one would be there beside the next
            self._newest = Entry(place, self._messages[place], self._tokens[place])
        return self._newest
