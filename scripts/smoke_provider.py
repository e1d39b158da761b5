"""One summary by a real provider, with a real key: `python -m scripts.smoke_provider anthropic|openai [model]`.

Costs less than a cent. Without a key in the usual variable it says so and ends with 0.
"""

from __future__ import annotations

import asyncio
import sys

from precompact_shared.clock import monotonic_s
from precompact_shared.engine.preset import load_preset
from precompact_shared.engine.summary import extract
from precompact_shared.engine.tokens import count_message
from precompact_shared.engine.types import Entry, Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import CallMode, ProviderName, ProviderSpec
from precompact_shared.settings import environment, load_settings
from precompact_shared.store.types import JobKind, JobState, JobTag
from precompact_worker.book import Book
from precompact_worker.providers.base import Request
from precompact_worker.providers.clients import Clients
from precompact_worker.providers.registry import Desk, make_chain

MODELS = {ProviderName.ANTHROPIC: "claude-haiku-4-5", ProviderName.OPENAI: "gpt-5.4-mini"}
KEYS = {ProviderName.ANTHROPIC: "ANTHROPIC_API_KEY", ProviderName.OPENAI: "OPENAI_API_KEY"}
SAID = [
    {"role": "user", "content": "Fix `parse_header` in api/server.py. Never touch main.py."},
    {"role": "assistant", "content": "I split at the first colon only; tests/test_server.py passes."},
] * 12


async def smoke(spec: ProviderSpec) -> None:
    """The summary, and what it cost."""
    covered = tuple(
        Entry(seq, one, count_message(Format.ANTHROPIC, one, None)) for seq, one in enumerate(SAID)
    )
    carried = extract(Format.ANTHROPIC, covered, None)
    job = JobTag(jid="smoke", version=0, kind=JobKind.MANUAL, state=JobState.RUNNING)
    book = Book(job, monotonic_s, Policy().price_of)
    request = Request(
        format=Format.ANTHROPIC,
        preset=load_preset("precompact"),
        carried=carried,
        known=carried,
        covered=covered,
        covered_tokens=sum(entry.tokens for entry in covered),
        max_tokens=1_500,
        focus=None,
        attempt=1,
    )
    clients = Clients(load_settings())
    try:
        [provider] = make_chain([spec], Desk(Policy(), Format.ANTHROPIC, clients))
        reply = await provider.summarise(request, book)
        print(reply.text)
    finally:
        print(book.records())
        await clients.close()


def main() -> int:
    """0 when it worked or there is no key."""
    name = ProviderName(sys.argv[1])
    if not environment().get(KEYS[name]):
        print(f"skipped: set {KEYS[name]} to run this")
        return 0
    model = sys.argv[2] if len(sys.argv) > 2 else MODELS[name]
    asyncio.run(smoke(ProviderSpec(name=name, model=model, mode=CallMode.TRANSCRIPT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
