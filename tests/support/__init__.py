"""What tests share: a real Redis, recordings, waiting."""
