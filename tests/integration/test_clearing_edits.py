"""Clearing in the store (rule 7): edits survive later checkpoints, a rewrite drops those behind it, sizes stay honest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from precompact_shared.store import Announcement, Create, SyncStore, fix_layout, reading, sync_client
from precompact_shared.store.types import Answer, CandidateTag, CheckpointTag, NewEntry, Slot
from tests.support.filling import Filled

PLAIN = b"r{}"


class Story:
    """One session whose checkpoints clear."""

    def __init__(self, filled: Filled, store: SyncStore) -> None:
        self.filled = filled
        self.store = store
        self.numbers = count(1)
        filled.append([{"role": "user", "content": f"message {number}"} for number in range(10)])

    @property
    def tokens(self) -> int:
        """Size of the context."""
        return self.filled.view().tokens

    def sum_of(self, length: int) -> int:
        """Tokens of the entries `[0, length)`."""
        (last,) = self.store.run(reading.metas(self.filled.keys, [length - 1]))
        assert last is not None
        return last.cum

    def chain(self) -> list[CheckpointTag]:
        """The checkpoints, oldest first."""
        return self.store.run(reading.checkpoints(self.filled.keys))

    def text(self, cid: str) -> bytes | None:
        """The frozen context of a checkpoint."""
        return self.store.run(reading.frozen_context(self.filled.keys, cid))

    def make(self, upto: int, through: int = 0) -> CandidateTag:
        """A candidate by a whole job."""
        job, ops = self.filled.claim(), self.filled.ops
        self.store.run(ops.queued(job.jid))
        started = self.store.run(ops.start(job.jid, lease_ms=30_000, max_attempts=4)).job
        assert started is not None
        (last,) = self.store.run(reading.metas(self.filled.keys, [(through or upto) - 1]))
        assert last is not None
        said = Announcement(upto=upto, prefix=last.chain, through=through)
        assert self.store.run(ops.beat(job.jid, started.fence, lease_ms=30_000, announce=said)).o == "ok"
        tag = CandidateTag(
            cid=f"c{next(self.numbers)}",
            version=started.version,
            upto=upto,
            through=through,
            prefix=last.chain,
            kind="clearing" if through else "summary",
            slot=Slot.SPECULATIVE,
            preset="precompact",
            preset_version="1",
            tokens_before=30,
            tokens_after=10,
            length_at_snapshot=10,
            tokens_at_snapshot=100,
            provider="clearing",
        )
        answer = self.store.run(ops.put(job.jid, started.fence, tag, PLAIN))
        assert answer.o == "stored", (answer.o, answer.reason)
        return tag

    def take(self, tag: CandidateTag, cleared: list[tuple[int, int]], insert_tokens: int) -> Answer:
        """Adopts it with these cleared entries."""
        view = self.filled.view()
        record = CheckpointTag(
            cid=tag.cid,
            n=0,
            upto=tag.upto,
            through=cleared[-1][0] + 1 if cleared else 0,
            adopted_version=0,
            insert_tokens=insert_tokens,
            cleared=cleared,
        )
        answer = self.store.run(
            self.filled.ops.adopt(
                tag.cid, version=view.version, length=view.length, record=record, body=PLAIN
            )
        )
        assert answer.o == "adopted", (answer.o, answer.reason)
        self.filled.view()
        return answer


@pytest.fixture
def story(redis_url: str, tenant: str) -> Iterator[Story]:
    """A session of ten messages."""
    with sync_client(redis_url) as client:
        store = SyncStore(client)
        yield Story(Filled(store, fix_layout(client, 16), tenant, "s"), store)


def test_what_is_cleared_is_no_longer_in_the_size(story: Story) -> None:
    """Without a summary the insert is smaller than nothing."""
    before = story.tokens
    story.take(story.make(0, through=5), [(2, 3), (4, 5)], -8)
    assert story.tokens == before - 8
    assert [tag.through for tag in story.chain()] == [5]


def test_a_rewrite_gives_back_what_dropped_edits_saved(story: Story) -> None:
    """Edits at the rewritten place and later go, those in front of it stay and still save."""
    story.take(story.make(0, through=9), [(2, 3), (4, 5), (8, 2)], -10)
    story.filled.rewind(4)
    assert story.tokens == story.sum_of(4) - 3
    (record,) = story.chain()
    assert (record.edit_limit, record.through, record.cleared) == (4, 4, [(2, 3)])
    assert (record.insert_tokens, record.sighted) == (-3, 9)
    story.filled.rewind(1)
    assert story.tokens == story.sum_of(1)
    (record,) = story.chain()
    assert (record.edit_limit, record.cleared, record.insert_tokens) == (1, [], 0)


def test_a_later_summary_carries_the_edits_behind_it(story: Story) -> None:
    """What it covers takes its savings along; a rewrite drops carried edits as it drops one's own."""
    story.take(story.make(0, through=9), [(2, 3), (4, 5), (8, 2)], -10)
    story.take(story.make(4), [(4, 5), (8, 2)], 10 - 7)
    assert story.tokens == story.sum_of(10) - story.sum_of(4) + 3
    assert [tag.through for tag in story.chain()] == [9, 9]
    story.filled.rewind(6)
    assert story.tokens == story.sum_of(6) - story.sum_of(4) + 5
    older, newest = story.chain()
    assert (newest.edit_limit, newest.cleared, newest.insert_tokens) == (6, [(4, 5)], 5)
    assert (older.edit_limit, older.cleared) == (6, [(2, 3), (4, 5)])


def test_clearing_goes_on_behind_a_summary_that_carries_edits(story: Story) -> None:
    """Ahead is what edits beyond the carried ones."""
    story.take(story.make(0, through=5), [(4, 5)], -5)
    story.take(story.make(3), [(4, 5)], 5)
    tag = story.make(3, through=8)
    story.take(tag, [(4, 5), (7, 2)], 3)
    assert story.chain()[-1].cleared == [(4, 5), (7, 2)]
    assert story.filled.view().upto == 3


def test_a_revert_returns_to_the_edits_of_before(story: Story) -> None:
    """The older checkpoint projects again, with all it cleared."""
    story.take(story.make(0, through=9), [(2, 3), (8, 2)], -5)
    story.take(story.make(4), [(8, 2)], 8)
    newest = story.chain()[-1]
    assert story.store.run(story.filled.ops.revert(newest.n, req="r")).o == "reverted"
    assert story.tokens == story.sum_of(10) - 5


@pytest.mark.parametrize(("place", "left"), [(3, 0), (4, 0), (7, 0), (8, 1), (9, 1)])
def test_a_redaction_erases_every_text_that_saw_the_entry(story: Story, place: int, left: int) -> None:
    """A carried edit may quote the entry: the summary that carries it goes with the clearing that made it."""
    clearing = story.make(0, through=8)
    story.take(clearing, [(7, 2)], -2)
    summary = story.make(4)
    story.take(summary, [(7, 2)], 8)
    body = b'r{"role":"user","content":"gone"}'
    answer = story.store.run(
        story.filled.ops.redact([(place, NewEntry("", 3, body))], seen=story.filled.seen, req="r")
    )
    assert answer.o == "ok"
    assert len(story.chain()) == 2 * left
    assert [story.text(tag.cid) is not None for tag in (clearing, summary)] == [bool(left)] * 2


def test_texts_of_dropped_edits_are_erased_too(story: Story) -> None:
    """A rewrite has dropped the edit, its text still quotes what stood there: another entry there is redacted."""
    clearing = story.make(0, through=8)
    story.take(clearing, [(7, 2)], -2)
    summary = story.make(4)
    story.take(summary, [(7, 2)], 8)
    story.filled.rewind(7)
    story.filled.append([{"role": "user", "content": "another"}])
    answer = story.store.run(
        story.filled.ops.redact([(7, NewEntry("", 3, b"r{}"))], seen=story.filled.seen, req="redact")
    )
    assert answer.o == "ok"
    assert story.text(clearing.cid) is None
    assert story.text(summary.cid) is None


def test_a_fork_gives_back_what_its_missing_entries_saved(story: Story, tenant: str) -> None:
    """Edits behind its end were of entries it does not have."""
    story.take(story.make(0, through=9), [(2, 3), (8, 2)], -5)
    keys = story.filled.keys
    metas = [meta for meta in story.store.run(reading.metas(keys, range(5))) if meta is not None]
    entries = [
        NewEntry(digest=meta.digest, tokens=meta.cum - before, body=b"r{}")
        for meta, before in zip(metas, [0, *(meta.cum for meta in metas)], strict=False)
    ]
    copy = Filled(story.store, story.filled.layout, tenant, "copy")
    story.store.run(copy.ops.fork_open(Create(format=copy.format), "s"))
    assert story.store.run(copy.ops.fork_copy(0, entries)).o == "ok"
    tags = {tag.cid: tag for tag in story.store.run(reading.candidates(keys))}
    chain = [(record, tags[record.cid], PLAIN, PLAIN) for record in story.chain()]
    assert story.store.run(copy.ops.fork_publish(5, chain)).o == "published"
    (record,) = story.store.run(reading.checkpoints(copy.keys))
    assert (record.edit_limit, record.cleared, record.insert_tokens) == (5, [(2, 3)], -3)
    assert copy.view().tokens == story.sum_of(5) - 3
