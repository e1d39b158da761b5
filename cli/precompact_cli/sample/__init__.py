"""The sample session: a day of work on a made-up web service, written by `write_sample.py`, recorded of nobody."""

from __future__ import annotations

from pathlib import Path

SESSION = Path(__file__).with_name("session.json")
"""The session as one provider-JSON file."""
