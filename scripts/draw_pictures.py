"""Draws what `inspect` draws, to be looked at: `python -m scripts.draw_pictures [FILE …]`.

Of the files given, else of the sample that ships and of the logs in ../shared/data/logs where they are. Writes an SVG, a page and,
where a Chromium is installed, a PNG of each in light and dark to build/pictures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = CHECKOUT / "build" / "pictures"
SAMPLE = CHECKOUT / "cli" / "precompact_cli" / "sample" / "session.json"
LOGS = CHECKOUT.parent / "shared" / "data" / "logs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1000, 2300)
SCHEMES = {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}


def main(given: Sequence[str]) -> int:
    """Draws them all; 1 when a file cannot be inspected."""
    files = [Path(one) for one in given] or [SAMPLE, *sorted(LOGS.glob("*/*.json*"))]
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = [file for file in files if not draw(file, browser)]
    print(f"{len(files) - len(failed)} of {len(files)} drawn in {FOLDER}")
    return 1 if failed else 0


def draw(file: Path, browser: str | None) -> bool:
    """The pictures of one file; False, and inspect's own words on stderr, where there are none."""
    stem = FOLDER / f"{file.parent.name}--{file.stem}"
    page = stem.with_name(f"{stem.name}.html")
    options = ("--svg", f"{stem}.svg", "--html", str(page), "--json")
    inspect = [sys.executable, "-m", "precompact_cli", "inspect", str(file), *options]
    if subprocess.run(inspect, stdout=subprocess.DEVNULL, check=False).returncode:
        return False
    for scheme, more in SCHEMES.items() if browser else ():
        shoot(str(browser), page, Path(f"{stem}.{scheme}.png"), more)
    print(stem.name)
    return True


def shoot(browser: str, page: Path, picture: Path, more: Sequence[str]) -> None:
    """A PNG of a page, by a browser with a profile of its own that asks the network for nothing."""
    with tempfile.TemporaryDirectory() as profile:
        switches = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *(f"--user-data-dir={profile}", f"--window-size={SIZE[0]},{SIZE[1]}", "--hide-scrollbars"),
        )
        subprocess.run(
            [browser, *switches, *more, f"--screenshot={picture}", page.as_uri()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
