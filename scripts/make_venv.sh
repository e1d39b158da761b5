#!/usr/bin/env bash
# Makes the checkout's own environment, or brings it up to requirements.lock. Usage: make_venv.sh FOLDER
set -euo pipefail
venv=$1

find_python() {
  local candidate
  for candidate in python3 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "No Python 3.11 or later found on PATH; install one." >&2
  exit 1
}

# A moved or half-made environment does not run; make it anew.
if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
  python=$(find_python)
  echo "venv: makes $venv with $("$python" --version)"
  rm -rf "$venv"
  if ! "$python" -m venv "$venv"; then
    echo "This Python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
    exit 1
  fi
fi
echo "venv: installs requirements.lock (about a minute the first time)"
"$venv/bin/python" -m pip install --quiet --requirement requirements.lock
"$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
touch "$venv/.made"
