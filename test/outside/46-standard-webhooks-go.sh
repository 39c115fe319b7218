# The Go library of Standard Webhooks against what Gatehouse signs and accepts, and the Go of the pages in docs/. Needs
# no gateway.
source ./lib.sh
command -v go >/dev/null || skip 'there is no go'
folder=$OUTSIDE_CACHE/go-standardwebhooks
mkdir -p "$folder"
(cd go/standardwebhooks && GOFLAGS=-mod=mod timeout 300 go build -o "$folder/check" . >"$folder/log" 2>&1) ||
  skip "go can't build it: $(tail -n 1 "$folder/log")"
node standard-webhooks.ts "$folder/check" && exec node docs-programs.ts go go run
