"""Work and bytes of a turn at 5,000 entries against 50, with equal tails."""

from __future__ import annotations

from precompact_shared.policy import Policy
from tests.bench.agent import Agent
from tests.bench.figures import Figure, at_most, median, quantile, rounded
from tests.bench.ground import Cpu, Ground, open_session
from tests.bench.wire import Answer, Line, settle

TURNS = {"short": 25, "long": 2_500}
"""Two entries a turn, besides the opening."""
KEEP_TOKENS = 6_000
SIZE_BYTES = 2_000
WINDOW = 100_000_000
BLOCKS = 9
CALLS = 150
COMPACT_WAIT_S = 120


def work_and_bytes(ground: Ground) -> tuple[Figure, Figure]:
    """Blocks of prepares on a short and on a long session in turns: CPU of API and Redis, latency, bytes."""
    _, place = ground.tenant(Policy(keep_tokens=KEEP_TOKENS, background=False))
    cpu: dict[str, list[Cpu]] = {which: [] for which in TURNS}
    answers: dict[str, list[Answer]] = {which: [] for which in TURNS}
    with Line(place) as line:
        agents = {which: _compacted(line, which, turns) for which, turns in TURNS.items()}
        tails = {which: agent.length - agent.last["context"]["keep_from"] for which, agent in agents.items()}
        lengths = {which: agent.length for which, agent in agents.items()}
        settle()
        for block in range(-1, BLOCKS):  # the first pair warms up
            for which in TURNS if block % 2 else reversed(TURNS):
                before = ground.cpu()
                given = [agents[which].prepare() for _ in range(CALLS)]
                if block >= 0:
                    cpu[which].append(ground.cpu().since(before))
                    answers[which] += given
    return _work(cpu, answers, tails, lengths), _bytes(answers, lengths)


def _compacted(line: Line, which: str, turns: int) -> Agent:
    """A session whose entries but the tail are covered, and an agent that holds its checkpoint."""
    session = f"grown-{which}"
    open_session(line, session, window=WINDOW, turns=turns, size_bytes=SIZE_BYTES)
    waited = {"Prefer": f"wait={COMPACT_WAIT_S}"}
    job = line.call(f"/v1/sessions/{session}/compact", {}, headers=waited).json()
    assert job["candidate"], f"no candidate: {job}"
    line.call(f"/v1/sessions/{session}/adopt", {}, headers={"If-Match": f'"0-{1 + 2 * turns}"'}).json()
    agent = Agent(line, session, WINDOW, SIZE_BYTES, number=turns, version=1, length=1 + 2 * turns)
    agent.send([])
    assert agent.checkpoint is not None, "the session was to be compacted"
    return agent


def _work(
    cpu: dict[str, list[Cpu]],
    answers: dict[str, list[Answer]],
    tails: dict[str, int],
    lengths: dict[str, int],
) -> Figure:
    ratios = [long.total_s / short.total_s for short, long in zip(cpu["short"], cpu["long"], strict=True)]
    took = {which: [answer.took_s for answer in given] for which, given in answers.items()}
    latency_ms = {
        which: {"p50": rounded(1000 * median(each)), "p99": rounded(1000 * quantile(each, 0.99))}
        for which, each in took.items()
    }
    cpu_ms = {
        which: {
            "api": rounded(1000 * median([each.app_s for each in blocks]) / CALLS),
            "redis": rounded(1000 * median([each.redis_s for each in blocks]) / CALLS),
        }
        for which, blocks in cpu.items()
    }
    return at_most(
        "work_per_turn_5000_against_50",
        median(ratios),
        1.2,
        sum(map(len, took.values())),
        latency_p50_ratio=rounded(latency_ms["long"]["p50"] / latency_ms["short"]["p50"]),
        latency_ms=latency_ms,
        cpu_ms_per_prepare=cpu_ms,
        cpu_ratios=[rounded(ratio) for ratio in ratios],
        entries_at_start=lengths,
        tail_entries_at_start=tails,
    )


def _bytes(answers: dict[str, list[Answer]], lengths: dict[str, int]) -> Figure:
    sent = {which: median([answer.sent_bytes for answer in given]) for which, given in answers.items()}
    read = {which: median([answer.read_bytes for answer in given]) for which, given in answers.items()}
    return at_most(
        "bytes_on_the_wire_5000_against_50",
        (sent["long"] + read["long"]) / (sent["short"] + read["short"]),
        1.02,
        sum(map(len, answers.values())),
        request_bytes=sent,
        response_bytes=read,
        entries_at_start=lengths,
        note="the rest above 1 is longer numbers in the JSON",
    )
