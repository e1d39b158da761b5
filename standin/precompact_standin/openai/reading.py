"""The first look at a body: its fields and its model's name."""

from __future__ import annotations

from typing import Any

from precompact_standin.refusal import broken
from precompact_standin.shapes import Shape


def checked_body(body: dict[str, Any], shape: Shape) -> None:
    """Raise a 400 for unknown, missing or null fields."""
    found = shape.faults(body, "", "O0")
    if found is not None:
        known = (found.param or "") in shape.allowed
        text = (
            f"Missing or invalid parameter: '{found.param}'."
            if known
            else f"Unknown parameter: '{found.param}'."
        )
        code = "missing_required_parameter" if known else "unknown_parameter"
        raise broken("O0", text, param=found.param, code=code)
    if "model" in body and body["model"] is not None and not isinstance(body["model"], str):
        raise broken("O0", "Invalid type for 'model': expected a string.", param="model", code="invalid_type")
