"""What is played on: a real API, a worker's runtime on its Redis, and the stand-in, which tells tokens by o200k."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import precompact_shared
from precompact_shared.engine.catalogue import ToolKind
from precompact_shared.policy import Policy, ToolSpec
from precompact_shared.provider_spec import ProviderName, ProviderSpec
from precompact_shared.settings import Settings
from precompact_shared.store import ClaimSpec, reading
from precompact_shared.store.types import JobKind, JobTag, SessionView
from precompact_standin.counting import Counter
from precompact_standin.scenario import Scenario
from precompact_worker.providers.clients import host_of
from precompact_worker.run import Ref
from precompact_worker.runtime import Runtime
from tests.bench.costs.dialects import dialect_of
from tests.bench.costs.rows import Pair, Row, Way
from tests.bench.wire import Place
from tests.support.stack import Shape, Stack
from tests.support.standin import Served, serve_standin

AGENT_KEY = "sk-agent"
SERVICE_KEY = "sk-service"
UNCLEARABLE = ToolSpec(kind=ToolKind.OTHER, protect=True)
"""Clearing old results, which costs no call, comes before any summary; here it would take all of them."""
START_S = 1_800_000_000.0
RANKS = Path(str(files(precompact_shared))) / "data" / "o200k_base.tiktoken.gz"


@dataclass(frozen=True, slots=True)
class Ground:
    """A running service whose jobs are done here, one at a time, by the code of a worker process."""

    stack: Stack
    standin: Served
    runtime: Runtime
    numbers: Iterator[int]

    def begin(self, row: Row) -> None:
        """An empty cache that behaves so; the stand-in's clock stands still until it is moved."""
        keys = {AGENT_KEY: "agents", SERVICE_KEY: row.service_workspace}
        self.standin.play(Scenario(keys=keys, cache=row.lies, start_s=START_S))

    def tenant(self, way: Way, pair: Pair) -> tuple[str, Place]:
        """A new tenant that has its summaries made so; the place of its calls."""
        provider = dialect_of(pair.agent).provider
        is_openai = provider is ProviderName.OPENAI
        spec = ProviderSpec(
            name=provider,
            model=pair.cheap if way.is_cheap else pair.agent,
            mode=way.mode,
            base_url=self.standin.openai_url if is_openai else self.standin.url,
        )
        policy = Policy(providers=(spec,), fallback=False, tools={"*": UNCLEARABLE})
        tenant, key = self.stack.new_tenant(policy)
        return tenant, Place.of(self.stack.api_urls[0], key)

    def view(self, tenant: str, session: str) -> SessionView:
        """The session as it stands."""
        view = self.stack.store.run(self.stack.ops(tenant, session).view()).view
        assert view is not None
        return view

    def work(self, tenant: str, session: str) -> JobTag:
        """A job done as a scheduler's claim and a worker's message would have it done; its record."""
        ops, store = self.stack.ops(tenant, session), self.stack.store
        claimed = store.run(
            ops.claim(None, ClaimSpec(jid=f"job{next(self.numbers)}", kind=JobKind.SPECULATIVE))
        )
        assert claimed.o == "claimed", claimed.o
        assert claimed.jid is not None
        store.run(ops.queued(claimed.jid))
        ended = self.runtime.run(Ref(tenant, session, claimed.jid))
        job = store.run(reading.job(self.stack.session(tenant, session), claimed.jid))
        assert job is not None
        assert ended.how == "stored", (ended, job.calls)
        return job


@contextmanager
def ground() -> Iterator[Ground]:
    """Starts all, ends all."""
    os.environ |= {"ANTHROPIC_API_KEY": SERVICE_KEY, "OPENAI_API_KEY": SERVICE_KEY, "NO_PROXY": "127.0.0.1"}
    with (
        TemporaryDirectory(prefix="bench-") as folder,
        Stack(Path(folder), Shape(apis=1, schedulers=0, workers=0)) as stack,
        serve_standin() as standin,
    ):
        standin.app.state.counter = Counter(RANKS)
        settings = Settings(
            state_redis_url=stack.state.url,
            broker_url=stack.broker.url,
            data_dir=Path(folder),
            provider_hosts=(host_of(standin.url),),
        )
        runtime = Runtime(settings)
        try:
            yield Ground(stack, standin, runtime, itertools.count(1))
        finally:
            runtime.close()
