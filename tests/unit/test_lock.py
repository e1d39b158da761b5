"""The lock check finds what it is for."""

from __future__ import annotations

from scripts.check_lock import find_faults

WANTED = ["redis[hiredis]>=6.4,<9", "uvloop>=0.21; sys_platform != 'win32'"]


def test_a_fitting_lock_has_no_faults() -> None:
    """Extras, markers and spelling of names do not matter."""
    assert find_faults("Redis==8.1.0\nuvloop==0.23.0 ; sys_platform != 'win32'\n", WANTED) == []


def test_a_host_in_the_lock_is_a_fault() -> None:
    """A lock that names an index cannot be installed elsewhere."""
    assert find_faults("--index-url https://example.invalid/simple\nredis==8.1.0\n", WANTED)


def test_a_missing_or_too_old_package_is_a_fault() -> None:
    """The lock must be resolved again when pyproject.toml changes."""
    faults = find_faults("redis==5.0.0\n", WANTED)
    assert len(faults) == 2
    assert all("make relock" in fault for fault in faults)
