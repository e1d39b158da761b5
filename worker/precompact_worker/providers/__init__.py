"""Who writes summaries: one small protocol, one module each, a chain per policy."""
