# The Helm chart: what it renders, for everything that an operator would switch. `HELM`, or the helm on the path; else
# one is built from its Go module, once.
source ./lib.sh
version=v3.20.2
HELM=${HELM:-$(command -v helm)}
if [ -z "$HELM" ]; then
  folder=$OUTSIDE_CACHE/helm-$version
  HELM=$folder/helm
  if [ ! -x "$HELM" ]; then
    command -v go >/dev/null || skip 'there is neither helm nor go to build it'
    mkdir -p "$folder"
    GOBIN=$folder timeout 420 go install "helm.sh/helm/v3/cmd/helm@$version" >"$folder.log" 2>&1 ||
      skip "go can't build helm (in seven minutes): $(tail -n 1 "$folder.log")"
  fi
fi
export HELM
results=$(mktemp)
trap 'rm -f "$results" "$results.log"' EXIT
(cd ../.. && node --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js \
  --config test/chart/jest.config.js --json --outputFile="$results" >"$results.log" 2>&1)
node jest-results.ts "$results" || { tail -n 40 "$results.log"; exit 1; }
