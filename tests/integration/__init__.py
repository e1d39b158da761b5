"""Tests against a real Redis and real processes."""
