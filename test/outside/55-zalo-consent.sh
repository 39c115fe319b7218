# The consent of a Zalo Official Account in a real browser, begun and finished on different replicas.
source ./lib.sh
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)} ||
  skip 'there is no chromium'
export CHROMIUM
exec node zalo-consent.ts
