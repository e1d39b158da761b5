"""The Python client of precompact: sync and async."""
