"""What is built ships everything that runs, and nothing under a name that is not ours."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [
    "api/precompact_api",
    "cli/precompact_cli",
    "client/precompact",
    "scheduler/precompact_scheduler",
    "shared/precompact_shared",
    "standin/precompact_standin",
    "worker/precompact_worker",
]


def test_the_wheel_holds_every_file_of_every_package(tmp_path: Path) -> None:
    """Scripts, presets, rank files and type markers too; tests and folders' own names stay out."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("precompact-*.whl")
    with zipfile.ZipFile(wheel) as content:
        shipped = {name for name in content.namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to((ROOT / package).parent))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == wanted
    assert {f"{Path(package).name}/py.typed" for package in PACKAGES} <= shipped
