"""`python -m precompact_cli`: works where a console script does not (a path with a space in it)."""

from precompact_cli.main import app

if __name__ == "__main__":
    app(prog_name="precompact")
