"""The facts kept by code in the preset's sections: no network, no money, always there."""

from __future__ import annotations

import asyncio

from precompact_shared.engine.summary import render, render_split
from precompact_shared.engine.usage import Usage
from precompact_worker.book import Book
from precompact_worker.providers.base import Reply, Request


class Extractive:
    """Last of every chain."""

    name = "extractive"

    async def summarise(self, request: Request, book: Book) -> Reply:
        """Renders the carried facts; off the loop, since long histories take a while."""
        with book.open(self.name) as call:
            reply = await asyncio.to_thread(render_facts, request)
            call.usage = Usage(input_tokens=request.covered_tokens, output_tokens=reply.tokens)
            call.outcome = "ok"
        return reply


def render_facts(request: Request) -> Reply:
    """The reply, made on the spot."""
    preset, most, focus = request.preset, request.max_tokens, request.focus
    if request.head is None:
        summary = render(request.carried, preset, most, focus)
    else:
        summary = render_split(request.carried, request.head, preset, most, focus)
    return Reply(text=summary.text, tokens=summary.tokens)
