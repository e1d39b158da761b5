"""The worker process: turns jobs into candidates."""
