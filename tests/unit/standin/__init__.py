"""Tests of the stand-in for providers."""
