"""What AWS puts around a protocol: signed requests, event streams, errors of its own."""
