"""Which fault, if any, a request meets: named in its header, next in the script, or due by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from precompact_standin.refusal import Refusal
from precompact_standin.scenario import Fault, FaultKind, FaultRule, Reply, Scenario, Step

HEADER = "x-standin-fault"

ON_THE_WAY = frozenset(
    {
        FaultKind.CUT_STREAM,
        FaultKind.RESET_STREAM,
        FaultKind.STALLED_STREAM,
        FaultKind.PINGED_STREAM,
        FaultKind.ERROR_EVENT,
        FaultKind.FLAT_ERROR_EVENT,
        FaultKind.SLOW_FIRST_BYTE,
        FaultKind.RESET,
    }
)


class Deck:
    """Deals faults and scripted replies to requests, in the order they come."""

    def __init__(self, scenario: Scenario) -> None:
        self._rules = scenario.faults
        self._script = list(scenario.script)
        self._seen: Counter[int] = Counter()
        self._dealt: Counter[int] = Counter()

    def deal(
        self, path: str, headers: Mapping[str, str], *, generates: bool
    ) -> tuple[Fault | None, Reply | None]:
        """Fault and scripted reply of the next request to `path`; only those that generate use up the script."""
        step = self._script.pop(0) if generates and self._script else Step()
        due = [rule.fault for index, rule in enumerate(self._rules) if self._due(index, rule, path)]
        named = read_header(headers.get(HEADER, ""))
        return named or step.fault or next(iter(due), None), step.reply

    def _due(self, index: int, rule: FaultRule, path: str) -> bool:
        if not path.endswith(rule.path):
            return False
        self._seen[index] += 1
        number = self._seen[index]
        hit = number in rule.on if rule.on else number % rule.every == 0
        if not hit or (rule.times and self._dealt[index] >= rule.times):
            return False
        self._dealt[index] += 1
        return True


def read_header(value: str) -> Fault | None:
    """Read `kind; field=value; …`; nothing for "". Raises `Refusal` for what it cannot be."""
    if not value.strip():
        return None
    kind, *fields = (part.strip() for part in value.split(";"))
    pairs = dict(pair.partition("=")[::2] for pair in fields if pair)
    try:
        return msgspec.convert({"kind": kind, **pairs}, Fault, strict=False)
    except msgspec.ValidationError as error:
        raise Refusal(f"{HEADER}: {error}") from error
