"""What `prepare` and operators do in a random history: adopt, revert, decline, delete, revive."""

from __future__ import annotations

from precompact_shared.store.types import Seen
from tests.property.scene import FORMATS, Scene


class Operators(Scene):
    """Acts on candidates, checkpoints and the session as a whole."""

    def adopt(self) -> None:
        """Adopts a candidate, freezing the text it was stored with."""
        view, rng = self.both.facts.view, self.rng
        known = sorted(self.both.facts.tags)
        if view is None or not known:
            return
        ready = [tag.cid for tag in view.candidates]
        cid = rng.choice(ready) if ready and rng.random() < 0.8 else rng.choice(known)
        stale = (
            rng.choice(self.events)
            if self.events and rng.random() < 0.15
            else Seen(view.version, view.length)
        )
        answer = self.both.adopt(cid, version=stale.version, length=stale.length, forced=rng.random() < 0.3)
        if answer.o == "adopted":
            self.truth.adopt(view.incarnation, view.version)

    def revert(self) -> None:
        """Goes back one checkpoint."""
        chain = self.both.facts.chain
        n = chain[-1].n if chain and self.rng.random() < 0.85 else self.rng.randrange(4)
        self.both.revert(n, req=self._number("v"))

    def close(self) -> None:
        """Discards a candidate."""
        known = sorted(self.both.facts.tags)
        ready = [tag.cid for tag in self.both.facts.view.candidates] if self.both.facts.view else []
        if known:
            self.both.close(self.rng.choice(ready if ready and self.rng.random() < 0.5 else known))

    def delete(self) -> None:
        """Deletes the session."""
        if self.rng.random() < 0.3:
            self.both.delete()
            self.truth.acked, self.truth.undone = set(), set()

    def create(self) -> None:
        """Makes the session, or revives it."""
        recreate = self.rng.random() < 0.7
        self.both.create(
            self.rng.choice(FORMATS) if self.rng.random() < 0.1 else self.format, recreate=recreate
        )
