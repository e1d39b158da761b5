"""Measurements side by side: the service against bare baselines, in one run, in interleaved blocks. `make bench`."""
