"""One module a figure; each takes the ground and returns a `Figure`."""
