# The pages in a real browser.
source ./lib.sh
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)} ||
  skip 'there is no chromium'
export CHROMIUM
status=0
for part in pages page-frame page-csv page-figures page-attacks page-keyboard page-access page-resources page-forms page-runs; do
  node "$part.ts" || status=$?
done
exit "$status"
