"""The parts of `make bench-cost`."""
