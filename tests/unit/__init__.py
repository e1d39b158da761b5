"""Tests that speak to nothing."""
