"""Every setting of every process, read once at start from `PRECOMPACT_*`; the only place that reads the environment."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from precompact_shared.errors import Configuration
from precompact_shared.logging import LogFormat

PREFIX = "PRECOMPACT_"
MIB = 1024 * 1024
CLIENT_VARIABLES = frozenset({"PRECOMPACT_URL", "PRECOMPACT_KEY"})
"""No settings of a process: where the command line finds a running service, and with which key."""


def environment() -> dict[str, str]:
    """A copy of this process's environment, for children that are started with a few changes."""
    return dict(os.environ)


def default_data_dir() -> Path:
    """The user's data folder by the XDG rules; below the temporary folder when there is no home."""
    base = os.environ.get("XDG_DATA_HOME") or ""
    if base:
        return Path(base) / "precompact"
    home = os.environ.get("HOME") or ""
    return Path(home) / ".local" / "share" / "precompact" if home else Path("/tmp/precompact")  # noqa: S108


class Settings(BaseSettings):
    """Frozen. Each field: unit, default, and in one line why. `load_settings` is the way to get one."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, hide_input_in_errors=True
    )

    # Where things are
    state_redis_url: str | None = Field(
        None,
        repr=False,
        description="URL of the Redis that holds sessions and the ledger; unset = embedded (`up`, `demo`).",
    )
    broker_url: str | None = Field(
        None,
        repr=False,
        description="URL of Celery's broker, its own server or database; unset = embedded (`up`, `demo`).",
    )
    data_dir: Path = Field(
        default_factory=default_data_dir, description="Folder of the embedded Redis and of logs of `up`."
    )
    shards: int = Field(
        16,
        ge=1,
        le=1024,
        description="Number of shards. Fixed at first start and kept in Redis; more = more parallel.",
    )

    # Jobs: how soon work is found again when a process dies
    lease_s: float = Field(
        30, gt=0, description="Seconds a running job is ours without a heartbeat (sent at a third)."
    )
    sweep_s: float = Field(5, gt=0, description="Seconds between two rounds of the sweeper on a shard.")
    lag_s: float = Field(
        5, gt=0, description="Seconds an unhandled event may wait before the sweeper decides itself."
    )
    resend_s: float = Field(
        30, gt=0, description="Seconds after which a queued job's message is taken for lost."
    )
    job_attempts: int = Field(
        4, ge=1, le=20, description="Attempts before a job is dead and waits for an operator."
    )
    job_deadline_s: float = Field(
        120, gt=0, description="Seconds one attempt may take in all; then it is cancelled."
    )

    # API
    api_host: str = Field("127.0.0.1", description="Address the API binds; a container sets 0.0.0.0.")
    api_port: int = Field(8420, ge=0, le=65535, description="Port of the API.")
    api_workers: int = Field(1, ge=1, le=64, description="API processes on one port; one per core is enough.")
    body_limit_bytes: int = Field(32 * MIB, ge=1024, description="Bytes of one request body; larger is 413.")
    list_limit: int = Field(10_000, ge=1, description="Messages in one call; larger lists are sent in parts.")
    nesting_limit: int = Field(
        64, ge=8, le=500, description="Levels of JSON nesting; deeper is refused, not parsed."
    )
    session_entries_limit: int = Field(
        200_000, ge=1, description="Entries one session may hold (`session_full`)."
    )
    session_bytes_limit: int = Field(
        512 * MIB, ge=1024, description="Bytes one session may hold (`session_full`)."
    )

    # Worker
    worker_concurrency: int = Field(
        32, ge=1, le=500, description="Jobs one worker runs at a time, on threads."
    )
    provider_chain: Annotated[tuple[str, ...], NoDecode] = Field(
        ("extractive",),
        min_length=1,
        description="Providers in the order they are tried, separated by commas.",
    )
    scripted_delay_s: float = Field(
        0, ge=0, description="Seconds the scripted provider takes; for demo and tests."
    )

    # Providers
    anthropic_model: str = Field(
        "claude-haiku-4-5", min_length=1, description="Model of `anthropic` in the deployment's chain."
    )
    anthropic_base_url: str | None = Field(
        None, description="Another server for `anthropic`; without `/v1`. Its host needs no allowing."
    )
    openai_model: str = Field(
        "gpt-5.4-mini", min_length=1, description="Model of `openai` in the deployment's chain."
    )
    openai_base_url: str | None = Field(
        None, description="Another server for `openai`; with `/v1`. Its host needs no allowing."
    )
    openai_api: Literal["responses", "chat"] = Field(
        "responses", description="Protocol of `openai` in the deployment's chain."
    )
    provider_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Hosts (`name` or `name:port`) that a tenant's policy may name in `base_url`, separated by commas.",
    )
    provider_key_refs: Annotated[tuple[str, ...], NoDecode] = Field(
        ("env:ANTHROPIC_API_KEY", "env:OPENAI_API_KEY"),
        description="Key references that a tenant's policy may use, separated by commas; `file:/folder/*` for a folder.",
    )

    # Seen from outside
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Least level that is logged."
    )
    log_format: LogFormat = Field(LogFormat.CONSOLE, description="`console` for people, `json` for machines.")
    metrics: bool = Field(default=True, description="Whether `/metrics` is served.")

    @property
    def required_state_redis_url(self) -> str:
        """The state's URL, for a process that cannot embed one. Raises `Configuration` when it is unset."""
        return _require(self.state_redis_url, "state_redis_url")

    @property
    def required_broker_url(self) -> str:
        """The broker's URL, for a process that cannot embed one. Raises `Configuration` when it is unset."""
        return _require(self.broker_url, "broker_url")

    @field_validator("provider_chain", "provider_hosts", "provider_key_refs", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _refuse_the_impossible(self) -> Settings:
        if self.sweep_s > self.lease_s:
            raise ValueError("sweep_s must not exceed lease_s, or a dead worker's job is found late")
        if (self.state_redis_url is None) != (self.broker_url is None):
            raise ValueError("set both state_redis_url and broker_url, or neither (then both are embedded)")
        if self.state_redis_url is not None and self.state_redis_url == self.broker_url:
            raise ValueError("broker_url must be another server or database than state_redis_url")
        return self


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment. Raises `Configuration` for an unknown or impossible one and names it."""
    refuse_unknown(os.environ)
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks them
    except ValidationError as error:
        told = "; ".join(
            _tell(problem["loc"], problem["msg"]) for problem in error.errors(include_input=False)
        )
        raise Configuration(f"Correct these settings and start again: {told}.") from None


def refuse_unknown(variables: Mapping[str, str]) -> None:
    """Raises `Configuration` when a `PRECOMPACT_*` variable is none of ours: a typo must not be a silent default."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | CLIENT_VARIABLES
    for variable in variables:
        if variable.upper().startswith(PREFIX) and variable.upper() not in known:
            near = difflib.get_close_matches(variable.upper(), known, n=1)
            hint = f"did you mean {near[0]}?" if near else "see docs/reference/settings.md"
            raise Configuration(f"{variable} is not a setting; {hint}")


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables from which `load_settings` makes these settings again, for a child process."""
    values = settings.model_dump(mode="json", exclude_none=True)
    return {
        PREFIX + name.upper(): ",".join(value) if isinstance(value, list) else str(value)
        for name, value in values.items()
    }


def _require(value: str | None, name: str) -> str:
    if value is None:
        raise Configuration(
            f"Set {PREFIX}{name.upper()}, or use `precompact up`, which brings a Redis of its own."
        )
    return value


def _tell(where: tuple[int | str, ...], what: str) -> str:
    name = ".".join(str(part) for part in where)
    return f"{PREFIX}{name.upper()}: {what}" if name else what
