"""The facts kept by code in the preset's sections: no network, no money, always there."""

from __future__ import annotations

import asyncio

from precompact_shared.engine.summary import render, render_split
from precompact_worker.providers.base import Reply, Request


class Extractive:
    """Last of every chain."""

    name = "extractive"

    async def summarise(self, request: Request) -> Reply:
        """Renders the carried facts; off the loop, since long histories take a while."""
        return await asyncio.to_thread(render_facts, request)


def render_facts(request: Request) -> Reply:
    """The reply, made on the spot."""
    preset, most, focus = request.preset, request.max_tokens, request.focus
    if request.head is None:
        summary = render(request.carried, preset, most, focus)
    else:
        summary = render_split(request.carried, request.head, preset, most, focus)
    return Reply(
        text=summary.text,
        tokens=summary.tokens,
        input_tokens=request.covered_tokens,
        output_tokens=summary.tokens,
    )
