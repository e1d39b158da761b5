"""What at least two processes speak: the pure engine, the store, contracts, policy and settings."""
