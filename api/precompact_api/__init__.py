"""The HTTP process: accounts, prepare, problems and notices."""
