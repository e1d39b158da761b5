"""`python -m precompact_standin --port N [--host H] [--scenario FILE] [--ranks FILE]`: serve until interrupted."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn

from precompact_standin.app import create_app
from precompact_standin.scenario import Scenario, read_scenario


def main() -> None:
    """Serve the stand-in; port 0 takes a free one, which is printed by the server."""
    parser = argparse.ArgumentParser(prog="precompact_standin", description="A stand-in for model providers.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8430)
    parser.add_argument("--scenario", type=Path, help="a scenario in TOML or JSON")
    parser.add_argument("--ranks", type=Path, help="tiktoken's o200k_base rank file; without it: bytes / 3")
    wanted = parser.parse_args()
    scenario = read_scenario(wanted.scenario) if wanted.scenario else Scenario()
    app = create_app(scenario, wanted.ranks)
    uvicorn.run(
        app,
        host=wanted.host,
        port=wanted.port,
        access_log=False,
        timeout_graceful_shutdown=1,
        log_level="info",
    )


if __name__ == "__main__":
    main()
