"""The calls, one module per subject."""
