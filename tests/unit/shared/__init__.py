"""Tests of the shared package."""
