#!/usr/bin/env bash
# Starts two gateways as `make up` does, each on a free port and a state folder of its own, and has the numbered steps
# beside this file talk to them. Prints a line per check, `N passed, N failed, N skipped` last, and fails if any check did.
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export PATH="$root/node_modules/.bin:$PATH" NODE_COMPILE_CACHE="$root/node_modules/.cache/node"
# Tools stay when packages are installed again.
export OUTSIDE_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse-outside"

TIMEFORMAT="%U+%S cpu %R wall"; passed=0
failed=0
skipped=0

folder=$(mktemp -d)
# Run as root, PostgreSQL gets an OS user of its own, who must pass through.
chmod o+x "$folder"
gateways=()
lanes=()
stop() {
  if [ "${#lanes[@]}" -gt 0 ]; then
    kill -TERM "${lanes[@]}" 2>/dev/null
    wait "${lanes[@]}"
  fi
  if [ "${#gateways[@]}" -gt 0 ]; then
    kill -TERM "${gateways[@]}" 2>/dev/null
    wait "${gateways[@]}"
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

# The bundled simulator answers, whatever provider the caller's shell names. Senders can't sign, and receivers are on this
# machine.
unset OPENAI_API_KEY OPENAI_BASE_URL GATEHOUSE_MODELS GATEHOUSE_REPLICAS
export WEBHOOK_ALLOW_TOKEN=1 EGRESS_ALLOW=127.0.0.1,localhost

# On the state folder $folder/<name>.
start_gateway() {
  local port log=$folder/$1.log waited
  port=$(node --input-type=module -e \
    'import { freePort } from "@gatehouse/local/ports"; console.log(await freePort());')
  PORT=$port GATEHOUSE_STATE=$folder/$1 node "$root/deploy/local/up.ts" >"$log" 2>&1 &
  gateways+=($!)
  for waited in $(seq 1 900); do
    grep -q '^ready: ' "$log" && return
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  printf 'failed: the gateway did not start:\n'
  tail -n 20 "$log"
  failed=1
  report
}

start_gateway state
start_gateway generated

# Longer than any step takes, with the installation of its tools, on a machine at half its speed.
step_seconds=900

# Runs a step. What it prints and its exit status stay in files until `count` reads them. One that hangs is ended.
run_step() {
  local name=${1%.sh}
  { time timeout --kill-after=10 "$step_seconds" bash "$1" >"$folder/$name.out" 2>&1; } 2>"/tmp/gh/ciw/step.$name"
  printf '%s' $? >"$folder/$name.status"
}

# Prints what a step has printed, and adds up its checks.
count() {
  local file=${1%.sh} name status ok bad
  name=${file#[0-9][0-9]-}
  sed -E "s/^(ok|failed|skipped): /\1: $name: /" "$folder/$file.out"
  status=$(cat "$folder/$file.status")
  ok=$(grep -c '^ok: ' "$folder/$file.out")
  bad=$(grep -c '^failed: ' "$folder/$file.out")
  if [ "$status" -eq 77 ]; then
    skipped=$((skipped + 1))
    return
  fi
  # A step that ends badly, or without having checked anything, has failed even if none of its lines says so.
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$ok" -eq 0 ]; }; then
    printf 'failed: %s: ended with %s after %s checks\n' "$name" "$status" "$ok"
    bad=1
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
}

# Runs steps one after the other, beside this script.
lane() {
  trap 'kill $(jobs -p) 2>/dev/null; exit 130' TERM
  for step in "$@"; do
    run_step "$step" &
    wait $!
  done
}

# Lanes run at once, since steps wait for half of their time. Schemathesis changes what it meets, so its gateway is its own.
export GATEHOUSE_STATE=$folder/state
for steps in 1 '[23]' '[4-8]'; do
  lane $steps[0-9]-*.sh &
  lanes+=($!)
done
GATEHOUSE_STATE=$folder/generated lane &
lanes+=($!)
wait "${lanes[@]}"
lanes=()
for step in [1-8][0-9]-*.sh; do count "$step"; done
report
