"""Checks that requirements.lock fits pyproject.toml and names neither a host nor a path."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def read_lock(text: str) -> dict[str, list[Version]]:
    """Name to locked versions (a name may stand there once per platform)."""
    locked: dict[str, list[Version]] = {}
    for line in text.splitlines():
        if not line or line.startswith((" ", "#")):
            continue
        pinned = Requirement(line)
        exact = next(iter(pinned.specifier)).version
        locked.setdefault(canonicalize_name(pinned.name), []).append(Version(exact))
    return locked


def find_faults(lock: str, wanted: list[str]) -> list[str]:
    """What is wrong, one sentence each; empty when all is well."""
    faults = [
        f"names a host or path: {line}" for line in lock.splitlines() if "/" in line or line.startswith("-")
    ]
    if faults:
        return faults
    locked = read_lock(lock)
    for requirement in map(Requirement, wanted):
        versions = locked.get(canonicalize_name(requirement.name), [])
        if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
            faults.append(f"does not satisfy {requirement}; run `make relock`")
    return faults


def main() -> int:
    """Prints the faults and returns 1 when there are any."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    faults = find_faults((ROOT / "requirements.lock").read_text(encoding="utf-8"), wanted)
    for fault in faults:
        print(f"requirements.lock {fault}", file=sys.stderr)
    if not faults:
        print("requirements.lock fits pyproject.toml and names no host")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
