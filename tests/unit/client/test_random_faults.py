from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from precompact import Client, Retry, ServiceUnreachableError, Session
from tests.unit.client.fake_service import FakeService

FAULTS = st.sampled_from(["answer", "answer", "answer", "lose", "refuse", "503"])
STEPS = st.one_of(
    st.tuples(st.just("prepare"), st.integers(0, 3)),
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("rewind"), st.integers(0, 4)),
    st.tuples(st.just("remember"), st.just(0)),
    st.tuples(st.just("fail over"), st.just(0)),
)


class Agent:
    """Does random things on a random network and keeps its own account of what was said."""

    def __init__(self, session: Session, service: FakeService) -> None:
        self.session = session
        self.service = service
        self.said: list[dict[str, str]] = []
        self._count = 0
        self._remembered = copy.deepcopy(service.sessions)

    def speak(self, count: int) -> list[dict[str, str]]:
        """New messages, no two alike."""
        news = [{"role": "user", "content": str(self._count + number)} for number in range(count)]
        self._count += count
        self.said += news
        return news

    def prepare(self, count: int) -> None:
        """A model call is due; the context holds exactly what was said and is not covered."""
        context = self.session.prepare(self.speak(count))
        kept = len(context.messages) - (context.checkpoint is not None)
        assert context.messages[len(context.messages) - kept :] == self.said[len(self.said) - kept :]
        if context.checkpoint is None:
            assert context.messages == self.said

    def append(self, count: int) -> None:
        """Something is said without a model call."""
        self.session.append(self.speak(count))

    def rewind(self, count: int) -> None:
        """The last messages are taken back, if the service can be told."""
        to = max(0, len(self.said) - count)
        try:
            self.session.rewind(to)
        except ServiceUnreachableError:
            return
        del self.said[to:]

    def remember(self, _: int) -> None:
        """Redis writes its file."""
        self._remembered = copy.deepcopy(self.service.sessions)

    def fail_over(self, _: int) -> None:
        """Redis comes back as it was when it wrote its file."""
        self.service.sessions = copy.deepcopy(self._remembered)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=25), st.lists(FAULTS, max_size=60), st.sampled_from([3, 5, 1_000]))
def test_whatever_goes_wrong_nothing_is_lost_or_doubled(
    steps: list[tuple[str, int]], faults: list[str], compact_every: int
) -> None:
    """Lost answers, outages and fail-overs in any order: after one call that works both sides hold the same."""
    service = FakeService(compact_every)
    service.fail = lambda number: faults[number] if number < len(faults) else "answer"
    retry = Retry(attempts=2, first_pause_s=0.0, longest_pause_s=0.0)
    with Client("http://precompact.test", "key", transport=service.transport(), retry=retry) as client:
        agent = Agent(client.session("s1", format="anthropic", window=100), service)
        for name, count in steps:
            getattr(agent, name.replace(" ", "_"))(count)
        service.fail = lambda _: "answer"
        agent.prepare(1)
    assert service.sessions["s1"].entries == agent.session.messages == agent.said
