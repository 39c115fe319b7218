#!/usr/bin/env bash
# Starts the gateway as `make up` does, on a free port and a state folder of its own, and has the numbered steps beside
# this file talk to it. Prints a line per check, `N passed, N failed, N skipped` last, and fails if any check did.
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export PATH="$root/node_modules/.bin:$PATH"
export OUTSIDE_CACHE="$root/node_modules/.cache/gatehouse-outside"

passed=0
failed=0
skipped=0

folder=$(mktemp -d)
# Run as root, PostgreSQL gets an OS user of its own, who must pass through.
chmod o+x "$folder"
touch "$folder/log"
gateway=
stop() {
  if [ -n "$gateway" ]; then
    kill -TERM "$gateway" 2>/dev/null
    wait "$gateway"
  fi
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

report() {
  printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}

# The bundled simulator answers, whatever provider the caller's shell names.
start_gateway() {
  unset OPENAI_API_KEY OPENAI_BASE_URL GATEHOUSE_MODELS GATEHOUSE_REPLICAS
  PORT=$(node --input-type=module -e \
    'import { freePort } from "@gatehouse/local/ports"; console.log(await freePort());') || return
  PORT=$PORT GATEHOUSE_STATE=$folder/state node "$root/deploy/local/up.ts" >"$folder/log" 2>&1 &
  gateway=$!
  local waited
  for waited in $(seq 1 900); do
    grep -q '^ready: ' "$folder/log" && return
    kill -0 "$gateway" 2>/dev/null || return
    sleep 0.1
  done
  return 1
}

if ! start_gateway; then
  printf 'failed: the gateway did not start:\n'
  tail -n 20 "$folder/log"
  failed=1
  report
fi
export GATEHOUSE_STATE=$folder/state

for step in [0-9][0-9]-*.sh; do
  name=$(basename "$step" .sh)
  name=${name#[0-9][0-9]-}
  bash "$step" 2>&1 | tee "$folder/step" | sed -E "s/^(ok|failed|skipped): /\1: $name: /"
  status=${PIPESTATUS[0]}
  ok=$(grep -c '^ok: ' "$folder/step")
  bad=$(grep -c '^failed: ' "$folder/step")
  if [ "$status" -eq 77 ]; then
    skipped=$((skipped + 1))
    continue
  fi
  # A step that ends badly, or without having checked anything, has failed even if none of its lines says so.
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$ok" -eq 0 ]; }; then
    printf 'failed: %s: ended with %s after %s checks\n' "$name" "$status" "$ok"
    bad=1
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
done
report
