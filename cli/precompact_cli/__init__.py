"""The `precompact` command."""
