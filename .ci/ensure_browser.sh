#!/bin/sh
# Makes sure that a Chromium for the browser tests is here. Usage: ensure_browser.sh PYTHON
set -eu
for candidate in "${GPULEDGER_CHROMIUM:-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
  if [ -n "$candidate" ] && [ -x "$candidate" ]; then exit 0; fi
done
"$1" - <<'PY' && exit 0 || true
import pathlib, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    sys.exit(not pathlib.Path(playwright.chromium.executable_path).exists())
PY
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium fonts-dejavu-core >/dev/null
else
  "$1" -m playwright install chromium
fi
