"""What is compared: ways to compact, pairs of models, and how the provider's cache behaves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from precompact_shared.provider_spec import CallMode
from precompact_standin.scenario import CacheLies

NO_LIES = CacheLies()


class Way(StrEnum):
    """How a session's summaries are made."""

    PREFIX = "prefix"
    """On the agent's live prefix, by its model."""
    TRANSCRIPT = "transcript"
    """From a transcript, by the agent's model."""
    CHEAP = "transcript_cheap"
    """From a transcript, by a cheaper model."""
    NATIVE = "native"
    """The provider's own block, by the agent's model, on demand."""
    AUTO = "auto"
    """The chooser, between the live prefix and a transcript to the cheaper model."""
    AUTO_ALONE = "auto_one_model"
    """The chooser of a tenant that allows the agent's model alone."""

    @property
    def mode(self) -> CallMode:
        """As a policy says it."""
        return _MODES[self]

    @property
    def is_cheap(self) -> bool:
        """Whether the policy names the cheaper model."""
        return self in {Way.CHEAP, Way.AUTO}

    @property
    def rivals(self) -> tuple[Way, ...]:
        """What a chooser chooses between; none for any other."""
        return _RIVALS.get(self, ())


_MODES = {
    Way.PREFIX: CallMode.PREFIX,
    Way.TRANSCRIPT: CallMode.TRANSCRIPT,
    Way.CHEAP: CallMode.TRANSCRIPT,
    Way.NATIVE: CallMode.NATIVE,
    Way.AUTO: CallMode.AUTO,
    Way.AUTO_ALONE: CallMode.AUTO,
}
_RIVALS = {
    Way.AUTO: (Way.PREFIX, Way.CHEAP),
    Way.AUTO_ALONE: (Way.PREFIX, Way.TRANSCRIPT),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The agent's model, and a cheaper one that may write summaries."""

    agent: str
    cheap: str

    @property
    def name(self) -> str:
        """As the report calls it."""
        return f"{self.agent} + {self.cheap}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How the cache behaves. On a truthful row it does what the vendor's pages say."""

    name: str
    about: str
    is_truthful: bool
    lies: CacheLies = NO_LIES
    agent_marks: str = "5m"
    """Life of what the agent's marks keep; "" for an agent that sets none."""
    service_workspace: str = "agents"
    """The agent's own is `agents`."""
    seconds_a_call: float = 20.0
    """Between two calls of the agent's, by the stand-in's clock: model, tools, and a user now and then."""


TRUTHFUL = Row(name="truthful", about="what was written can be read for five minutes", is_truthful=True)
HOUR = Row(name="hour", about="the agent's marks are of one hour", is_truthful=True, agent_marks="1h")
SLOW = Row(
    name="slow",
    about="a call a minute: what stands at the cut was last sent too long ago, the newest request was not",
    is_truthful=True,
    seconds_a_call=60.0,
)
EXPIRED = Row(
    name="expired",
    about="a call every seven minutes: nothing written is ever read",
    is_truthful=True,
    seconds_a_call=420.0,
)
UNMARKED = Row(
    name="unmarked", about="the agent sets no mark, so nothing is cached", is_truthful=True, agent_marks=""
)
EVICTED = Row(
    name="evicted",
    about="before every 7th look-up everything is forgotten",
    is_truthful=False,
    lies=CacheLies(evict_every=7),
)
NOWHERE = Row(
    name="nowhere",
    about="every request lands where nobody wrote",
    is_truthful=False,
    lies=CacheLies(other_workspace=True),
)
OTHER_WORKSPACE = Row(
    name="other_workspace",
    about="the agent reads its cache; the service's key is of another workspace",
    is_truthful=False,
    service_workspace="services",
)
CONCURRENT = Row(
    name="concurrent_writer",
    about="what was written can be read 30 s later only",
    is_truthful=False,
    lies=CacheLies(concurrent_writer_s=30.0),
)

CLOSE = Pair("claude-sonnet-4-6", "claude-haiku-4-5")
PREFIX_WINS = Pair("claude-sonnet-5-5", "claude-haiku-4-5")
TRANSCRIPT_WINS = Pair("claude-opus-5-5", "claude-haiku-5-5")
OPENAI = Pair("gpt-5.6", "gpt-5.4-mini")
