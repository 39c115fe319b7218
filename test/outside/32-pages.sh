# The pages in a real browser.
source ./lib.sh
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)} ||
  skip 'there is no chromium'
export CHROMIUM
exec node pages.ts
