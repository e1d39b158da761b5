"""`POST /model/{id}/invoke`: Bedrock says in body and path what the API itself says in headers."""

from __future__ import annotations

import re
from dataclasses import replace

from precompact_standin.answers import Answer
from precompact_standin.anthropic.endpoint import messages
from precompact_standin.anthropic.headers import NEW_VERSION, OLD_VERSION
from precompact_standin.refusal import Refusal, broken
from precompact_standin.state import Call, State

OWN_VERSION = "bedrock-2023-05-31"
_UP_TO_4_6 = re.compile(r"claude-(3|\w+-4-[0-6](?!\d)|\w+-4-\d{8})")
"""Models of Bedrock's that do not know the newest version."""


def bedrock(state: State, call: Call) -> Answer:
    """As `/v1/messages`, in JSON alone."""
    model = call.named["model"]
    body = {**call.body, "model": model[max(0, model.find("claude")) :]}
    version = str(body.pop("anthropic_version", None))
    betas = body.pop("anthropic_beta", [])
    if "model" in call.body or "stream" in call.body:
        raise broken("A19", "model, stream: Extra inputs are not permitted")
    if version not in {OWN_VERSION, NEW_VERSION} or (version == NEW_VERSION and _UP_TO_4_6.search(model)):
        raise Refusal("anthropic_version: not supported by this model")
    if not isinstance(betas, list) or not all(isinstance(beta, str) for beta in betas):
        raise broken("A19", "anthropic_beta: Input should be a valid list")
    said = {
        **call.headers,
        "anthropic-version": OLD_VERSION if version == OWN_VERSION else version,
        "anthropic-beta": ",".join(betas),
    }
    return messages(state, replace(call, headers=said, body=body))
