# An alert of a real Alertmanager goes to an agent by `webhook_configs`, and the summary to the endpoint's callback URL.
# `ALERTMANAGER`, or the one on the path; else one is built from its Go module, once.
source ./lib.sh
version=v0.28.1
ALERTMANAGER=${ALERTMANAGER:-$(command -v alertmanager)}
if [ -z "$ALERTMANAGER" ]; then
  folder=$OUTSIDE_CACHE/alertmanager-$version
  ALERTMANAGER=$folder/alertmanager
  if [ ! -x "$ALERTMANAGER" ]; then
    command -v go >/dev/null || skip 'there is neither alertmanager nor go to build it'
    mkdir -p "$folder"
    GOBIN=$folder timeout 420 go install "github.com/prometheus/alertmanager/cmd/alertmanager@$version" \
      >"$folder.log" 2>&1 || skip "go can't build alertmanager (in seven minutes): $(tail -n 1 "$folder.log")"
  fi
fi
exec node alertmanager.ts "$ALERTMANAGER"
