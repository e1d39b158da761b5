"""Logs whose figures were made up: `inspect` shows what can be, and never stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from precompact_cli.main import app
from tests.unit.cli.logs.test_mutated import NAMES, SMALL

ABSURD: tuple[Any, ...] = (-5, 10**18, 10**40, 10**400, 1e300, float("nan"), "7", None)


def with_figures(value: Any, figure: Any) -> Any:
    """The same with every number replaced."""
    if isinstance(value, dict):
        return {key: with_figures(one, figure) for key, one in value.items()}
    if isinstance(value, list):
        return [with_figures(one, figure) for one in value]
    return figure if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("figure", ABSURD, ids=[str(one)[:8] for one in ABSURD])
@pytest.mark.parametrize("raw", SMALL, ids=NAMES)
def test_absurd_figures_are_no_sizes(raw: bytes, figure: Any, tmp_path: Path) -> None:
    """Every number of the log is one that cannot be."""
    told = [json.dumps(with_figures(json.loads(line), figure)) for line in raw.decode().splitlines()]
    path = tmp_path / "log"
    path.write_text("\n".join(told), encoding="utf-8")
    for options in (["--json"], ["--view", "after"]):
        result = CliRunner().invoke(app, ["inspect", str(path), *options])
        assert result.exit_code == 0, result.output
    page = json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).stdout)
    assert page["sent"]["tokens"] < 10**6
    assert not page["usage_predictions"]
