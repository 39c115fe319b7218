#!/usr/bin/env bash
# Starts the gateway as `make up` does, on a free port and a state folder of its own, and has the numbered steps beside
# this file talk to it. Prints a line per check, `N passed, N failed, N skipped` last, and fails if any check did.
set -uo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export PATH="$root/node_modules/.bin:$PATH" NODE_COMPILE_CACHE="$root/node_modules/.cache/node"
export OUTSIDE_CACHE="$root/node_modules/.cache/gatehouse-outside"

passed=0
failed=0
skipped=0

folder=$(mktemp -d)
# Run as root, PostgreSQL gets an OS user of its own, who must pass through.
chmod o+x "$folder"
touch "$folder/log"
gateway=
beside=()
stop() {
  if [ "${#beside[@]}" -gt 0 ]; then
    kill -TERM "${beside[@]}" 2>/dev/null
    wait "${beside[@]}"
  fi
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
  # Senders that can't sign, and receivers on this machine.
  export WEBHOOK_ALLOW_TOKEN=1 EGRESS_ALLOW=127.0.0.1,localhost
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

# Longer than any step takes, with the installation of its tools, on a machine at half its speed.
step_seconds=900

# Runs a step. What it prints and its exit status stay in files until `count` reads them. One that hangs is ended.
run_step() {
  local name=${1%.sh}
  timeout --kill-after=10 "$step_seconds" bash "$1" >"$folder/$name.out" 2>&1
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

# Lanes run at once, since steps wait for half of their time. Those from 40 to 89 need no gateway, or may share it with
# Schemathesis.
first=(1[0-9]-*.sh) second=([23][0-9]-*.sh) others=([4-8][0-9]-*.sh)
lane "${others[@]}" &
beside+=($!)
lane "${second[@]}" &
beside+=($!)
for step in "${first[@]}"; do run_step "$step"; done
wait "${beside[1]}"
for step in "${first[@]}" "${second[@]}"; do count "$step"; done
for step in 9[0-9]-*.sh; do
  run_step "$step"
  count "$step"
done
wait "${beside[0]}"
beside=()
for step in "${others[@]}"; do count "$step"; done
report
