"""Who writes a demo's summaries, as a policy: code, a provider, or the provider's stand-in on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from precompact_cli.exits import InputRefused
from precompact_cli.recording import Recording
from precompact_cli.writers import Writer
from precompact_shared.engine.preset import Form, load_preset
from precompact_shared.engine.types import Format
from precompact_shared.policy import Policy
from precompact_shared.provider_spec import Api, ProviderName, ProviderSpec
from precompact_shared.settings import Settings, environment

SUMMARY_S = 20.0
"""What a summary takes unless something else is asked for, in session time."""
P95_ALLOWANCE = 1.25
"""How much longer than its delay a job takes at the slow end: loading, queueing, storing."""
CODE_WORK_S = 0.05
STANDIN_WORK_S = 0.5
"""Real seconds the stand-in needs besides its delay to read and count a long transcript."""
CALL_S, IDLE_S = 90.0, 30.0
"""Timeouts of a call and of silence, besides what a stand-in waits."""
CALLS_OF_A_JOB = 4
MOST_DELAY_S = 600.0
REAL_MOST_SPEED = 5.0
"""A real provider takes real seconds: played faster, a session would be over before its summaries are there."""
_MODELS = {Writer.ANTHROPIC: ProviderName.ANTHROPIC, Writer.OPENAI: ProviderName.OPENAI}
KEY_VARIABLES = {Writer.ANTHROPIC: "ANTHROPIC_API_KEY", Writer.OPENAI: "OPENAI_API_KEY"}
_NATIVE = {Format.ANTHROPIC: Writer.ANTHROPIC, Format.OPENAI_RESPONSES: Writer.OPENAI}
"""Whose own compaction reads a format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summariser:
    """What was asked for. `takes_s` is session time and means nothing to a real provider."""

    writer: Writer
    preset: str
    model: str | None = None
    is_standin: bool = False
    takes_s: float = SUMMARY_S

    @property
    def is_real(self) -> bool:
        """Whether a provider outside this machine is called: in real time, for real money."""
        return self.writer in _MODELS and not self.is_standin

    @property
    def session_s(self) -> float | None:
        """What a summary takes in session time; None where nobody sets it."""
        return {Writer.SCRIPTED: self.takes_s, Writer.EXTRACTIVE: 0.0}.get(
            self.writer, None if self.is_real else self.takes_s
        )

    def check(self, settings: Settings) -> None:
        """Raises InputRefused for what does not go together, and for a key that is missing."""
        if self.writer not in _MODELS:
            if self.is_standin or self.model:
                raise InputRefused("--standin and --model go with --provider anthropic or openai; name one.")
            return
        if self.is_standin or _base_url(self.writer, settings):
            return
        if not environment().get(KEY_VARIABLES[self.writer], "").strip():
            raise InputRefused(
                f"There is no key for {self.writer}: set {KEY_VARIABLES[self.writer]}, or add --standin to try it without one."
            )

    def check_form(self, recording: Recording) -> None:
        """Raises InputRefused where the preset's form needs another provider or another session."""
        if load_preset(self.preset).injection.form is not Form.NATIVE:
            return
        needed = next((wire for wire, writer in _NATIVE.items() if self.preset.startswith(writer)), None)
        if needed is not None and recording.format is not needed:
            raise InputRefused(
                f"The preset {self.preset} compacts {needed} sessions, this one is {recording.format}; "
                "take another preset or another file."
            )
        if self.writer is not _NATIVE[recording.format]:
            raise InputRefused(
                f"The preset {self.preset} is the provider's own compaction; add --provider {_NATIVE[recording.format]}."
            )

    def words(self) -> str:
        """Who writes and how long it takes, in a sentence's part."""
        if self.writer is Writer.EXTRACTIVE:
            return "summaries by code, at once"
        if self.writer is Writer.SCRIPTED:
            return f"a summary takes {self.takes_s:g} s of session time"
        if self.is_standin:
            return f"summaries by {self.writer}'s stand-in, each call {self.takes_s:g} s of session time"
        return f"summaries by {self.writer}, in real time"

    def delay_s(self, speed: float) -> float:
        """Real seconds of a summary in a play `speed` times as fast as recorded, where they are set; else 0."""
        delay_s = (self.session_s or 0.0) / speed
        if delay_s > MOST_DELAY_S:
            raise InputRefused(
                f"A summary would take {delay_s:,.0f} s of real time; take a smaller --summary-s or a higher --speed."
            )
        return delay_s

    def policy(self, speed: float, wire: Format, settings: Settings) -> Policy:
        """The tenant's policy for such a play. `settings`: those of the processes. Raises InputRefused as `delay_s` does."""
        spec, delay_s = self._spec(wire, settings, speed), self.delay_s(speed)
        if self.is_real:
            return Policy(preset=self.preset, providers=(spec,))
        work_s = STANDIN_WORK_S if self.is_standin else CODE_WORK_S
        return Policy(
            preset=self.preset,
            providers=(spec,),
            p95_job_s=(delay_s + work_s) * P95_ALLOWANCE,
            job_deadline_s=settings.job_deadline_s + CALLS_OF_A_JOB * delay_s,
        )

    def _spec(self, wire: Format, settings: Settings, speed: float) -> ProviderSpec:
        delay_s = self.delay_s(speed)
        if self.writer not in _MODELS:
            return ProviderSpec(name=ProviderName(self.writer), delay_s=delay_s)
        usual = settings.anthropic_model if self.writer is Writer.ANTHROPIC else settings.openai_model
        chats = wire is Format.OPENAI_CHAT if self.is_standin else settings.openai_api == "chat"
        is_chat = chats and self.writer is Writer.OPENAI
        return ProviderSpec(
            name=_MODELS[self.writer],
            model=self.model or usual,
            base_url=_base_url(self.writer, settings),
            api=Api.CHAT if is_chat else Api.RESPONSES,
            call_timeout_s=CALL_S + delay_s,
            idle_timeout_s=IDLE_S + delay_s,
        )


def _base_url(writer: Writer, settings: Settings) -> str | None:
    return settings.anthropic_base_url if writer is Writer.ANTHROPIC else settings.openai_base_url
