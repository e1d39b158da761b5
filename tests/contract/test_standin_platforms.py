"""The SDKs' clients for other platforms find the stand-in at their own paths."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import AnthropicBedrock, AnthropicBedrockMantle, AnthropicFoundry, BadRequestError
from openai import AzureOpenAI, BedrockOpenAI, OpenAI

from tests.support.standin import STRICT, Served

ASK: list[Any] = [{"role": "user", "content": "Rename the module."}]
TALK: list[Any] = [*ASK, {"role": "assistant", "content": "Done."}]


def test_azure_by_version_and_by_its_newer_path(standin: Served) -> None:
    """Responses, compaction and chat."""
    classic = AzureOpenAI(azure_endpoint=standin.url, api_version="2026-01-01", **STRICT)
    newer = OpenAI(base_url=f"{standin.url}/openai/v1/", **STRICT)
    for client in (classic, newer):
        with client:
            assert client.responses.create(model="gpt-6-sol", input="Hi.").output_text
            assert client.chat.completions.create(model="gpt-6-sol", messages=ASK).choices
            raw = client.responses.with_raw_response.compact(model="gpt-6-sol", input="Hi.")
            assert "encrypted_content" in raw.http_response.text


def test_openai_on_bedrock(standin: Served) -> None:
    """The usual paths behind another key."""
    with BedrockOpenAI(base_url=standin.openai_url, **STRICT) as client:
        assert client.responses.create(model="gpt-6-sol", input="Hi.").output_text


@pytest.mark.parametrize("kind", [AnthropicBedrockMantle, AnthropicFoundry])
def test_mantle_and_foundry_speak_the_usual_messages(standin: Served, kind: Any) -> None:
    """Below a path of their own."""
    region = {"aws_region": "us-east-1"} if kind is AnthropicBedrockMantle else {}
    with kind(base_url=f"{standin.url}/anthropic", **region, **STRICT) as client:
        assert client.messages.create(model="claude-opus-5", max_tokens=50, messages=ASK).content


def bedrock(standin: Served) -> Any:
    """The client, with a bearer token instead of signed requests."""
    return AnthropicBedrock(base_url=standin.url, aws_region="us-east-1", **STRICT)


def test_bedrock_says_version_and_betas_in_the_body(standin: Served) -> None:
    """And the model in the path."""
    with bedrock(standin) as client:
        reply = client.beta.messages.create(
            model="us.anthropic.claude-opus-5-5-v1:0",
            max_tokens=4_096,
            messages=TALK,
            compaction={"type": "summarize"},
            betas=["compact-2026-09-04"],
        )
        assert reply.stop_reason == "compaction"
        assert reply.model == "claude-opus-5-5-v1:0"


def test_bedrocks_older_models_do_not_know_the_new_version(standin: Served) -> None:
    """They want Bedrock's own."""
    wanted: dict[str, Any] = {"model": "anthropic.claude-opus-4-6-v1", "max_tokens": 50, "messages": ASK}
    with bedrock(standin) as client:
        with pytest.raises(BadRequestError, match="anthropic_version"):
            client.messages.create(**wanted)
        own = {"anthropic_version": "bedrock-2023-05-31"}
        assert client.messages.create(**wanted, extra_body=own).content
