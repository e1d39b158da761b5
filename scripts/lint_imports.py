"""Runs import-linter's contracts from pyproject.toml; its console script breaks in a path with spaces."""

import sys

from importlinter.cli import lint_imports

if __name__ == "__main__":
    sys.exit(lint_imports(no_logo=True))
