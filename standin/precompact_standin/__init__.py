"""A stand-in for model providers: speaks their wire protocols strictly, counts, caches, limits and fails on demand.

`create_app(Scenario(...))` is the ASGI application, `python -m precompact_standin --port N` serves it.
"""

from __future__ import annotations

from precompact_standin.app import create_app
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Reply, Scenario, Step, ToolCall

__all__ = ["Fault", "FaultKind", "FaultRule", "Reply", "Scenario", "Step", "ToolCall", "create_app"]
