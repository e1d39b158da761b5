"""The scheduler process: reads context-size events, decides, claims and enqueues."""
