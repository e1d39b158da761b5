"""`python -m precompact_api`: serves until it is told to end."""

from __future__ import annotations

import sys

import uvicorn

from precompact_shared.errors import Configuration
from precompact_shared.settings import load_settings

GRACE_S = 5


def main() -> int:
    """Exit code 2 when the configuration does not work."""
    try:
        settings = load_settings()
        _ = settings.required_state_redis_url
    except Configuration as error:
        sys.stderr.write(f"{error}\n")
        return 2
    uvicorn.run(
        "precompact_api.app:build",
        factory=True,
        host=settings.api_host,
        port=settings.api_port,
        workers=settings.api_workers,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
