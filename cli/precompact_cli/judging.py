"""What a provider would refuse of a conversation, and which of its tools nobody has described."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from precompact_cli.entries import Entries
from precompact_cli.exits import InputRefused
from precompact_cli.recording import Recording
from precompact_shared.engine.catalogue import Catalogue, shipped_catalogue
from precompact_shared.engine.clearing import unknown_tools
from precompact_shared.engine.types import Message
from precompact_shared.engine.validate import RequestFacts, Severity, find_breaches, silent_checks
from precompact_shared.errors import Configuration
from precompact_shared.policy import parse_policy

_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule that one message breaks: `index` -1 means the request around the messages."""

    index: int
    rule: str
    severity: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Every breach by index, and the ids of the rules that nothing could be said about."""

    breaches: tuple[Breach, ...]
    silent: tuple[str, ...]

    @property
    def is_refused(self) -> bool:
        """Whether a provider would refuse the conversation as it stands."""
        return any(breach.severity == Severity.ERROR for breach in self.breaches)


def judge_recording(recording: Recording) -> Judgement:
    """Holds the conversation against every rule of its format; as a history, not as a request about to be sent."""
    request = RequestFacts(tools=_tools(recording))
    found = find_breaches(recording.format, recording.messages, request=request)
    return Judgement(
        tuple(
            Breach(index, check.id, check.severity.value, check.says, check.source) for check, index in found
        ),
        tuple(dict.fromkeys(check.id for check in silent_checks(recording.format, request))),
    )


def strangers(recording: Recording, entries: Entries, catalogue: Catalogue) -> dict[str, float]:
    """Tools that no row of the catalogue speaks of, with their share of all tokens, largest first."""
    return dict(unknown_tools(recording.format, entries, catalogue))


def read_catalogue(policy: Path | None) -> Catalogue:
    """The catalogue of a policy in a JSON file, the shipped one without. Raises InputRefused for what is none."""
    if policy is None:
        return shipped_catalogue()
    try:
        if policy.stat().st_size > _MOST_BYTES:
            raise InputRefused("The policy is larger than 1 MB; give a policy as `/v1/policy` answers it.")
        return parse_policy(policy.read_bytes()).catalogue
    except OSError as error:
        raise InputRefused(f"The policy cannot be read ({error.strerror}); check its path.") from None
    except Configuration as error:
        raise InputRefused(str(error)) from None


def _tools(recording: Recording) -> tuple[Message, ...] | None:
    tools = recording.tools
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return None
    return tuple(tools)
