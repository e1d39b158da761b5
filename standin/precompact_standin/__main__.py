"""`python -m precompact_standin [--port N] [--host H] [--scenario FILE] [--ranks FILE] [--json]`: serve until told to end."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import msgspec
import uvicorn

from precompact_standin.app import create_app
from precompact_standin.scenario import Scenario, read_scenario

DEFAULT_PORT = 8430


def main() -> None:
    """Serve the stand-in. Its address goes to stdout as soon as it listens. Exit code 2: the scenario cannot be read."""
    wanted = _arguments()
    try:
        scenario = read_scenario(wanted.scenario) if wanted.scenario else Scenario()
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        sys.stderr.write(f"precompact_standin: the scenario cannot be read: {error}\n")
        raise SystemExit(2) from None
    app = create_app(scenario, wanted.ranks)
    listening = _listen(wanted.host, wanted.port)
    host, port = listening.getsockname()[:2]
    _tell(f"http://{host}:{port}", as_json=wanted.json)
    config = uvicorn.Config(app, access_log=False, timeout_graceful_shutdown=1, log_level="warning")
    uvicorn.Server(config).run([listening])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="precompact_standin", description="A stand-in for model providers.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one")
    parser.add_argument("--scenario", type=Path, help="a scenario in TOML or JSON")
    parser.add_argument("--ranks", type=Path, help="tiktoken's o200k_base rank file; without it: bytes / 3")
    parser.add_argument("--json", action="store_true", help="tell the address as one line of JSON")
    return parser.parse_args()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        sys.stderr.write(f"precompact_standin: {host}:{port} cannot be listened on: {error.strerror}\n")
        raise SystemExit(1) from None


def _tell(url: str, *, as_json: bool) -> None:
    """The address, and the variables that send the SDKs there."""
    if as_json:
        sys.stdout.write(msgspec.json.encode({"url": url}).decode() + "\n")
    else:
        sys.stdout.write(f"ANTHROPIC_BASE_URL={url}\nOPENAI_BASE_URL={url}/v1\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
