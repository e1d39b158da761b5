"""The pure engine: formats, cuts, summaries, projection, decisions. No I/O, no clock, no randomness."""
