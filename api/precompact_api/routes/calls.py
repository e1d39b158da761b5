"""What every control call does first: who calls, which session, what body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from precompact_api.auth import AGENT, Caller, identify
from precompact_api.guards import parse, read_body, session_id
from precompact_api.problems import refusal
from precompact_api.service import Service
from precompact_shared.store.keys import SessionKeys
from precompact_shared.store.ops import SessionOps
from precompact_shared.store.tenants import Scope
from precompact_shared.store.types import SessionView

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SessionCall:
    """A call about one session."""

    service: Service
    caller: Caller
    session: str

    @property
    def ops(self) -> SessionOps:
        """Operations on it."""
        return self.service.ops(self.caller.name, self.session)

    @property
    def keys(self) -> SessionKeys:
        """Its keys."""
        return self.service.session(self.caller.name, self.session)

    async def view(self) -> SessionView:
        """The session as it is. Raises Problem 404 or 410."""
        answer = await self.service.run(self.ops.view())
        if answer.view is None:
            raise refusal(answer)
        return answer.view


async def session_call(
    service: Service, request: Request, session: str, any_of: frozenset[Scope] = AGENT
) -> SessionCall:
    """The call of an authorised caller about a session of its tenant."""
    caller = await identify(service, request, any_of)
    return SessionCall(service, caller, session_id(session))


async def read_as(service: Service, request: Request, kind: type[T]) -> tuple[T, bytes]:
    """The body as a struct, and its bytes."""
    settings = service.settings
    raw = await read_body(request, settings.body_limit_bytes)
    return parse(msgspec.json.Decoder(kind), raw, nesting_limit=settings.nesting_limit), raw
