# What the steps share; sourced by them. A step prints `ok: <check>` or `failed: <check>: <reason>` for each thing it
# checks, and ends with 77 after `skipped: <reason>` where this machine lacks what it needs.

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

# Sets $python to the interpreter of a private environment with python/<name>.txt in it, made once per version. Each step
# has its own, so that a package that can't be had skips no other step.
python_environment() {
  command -v python3 >/dev/null || skip 'there is no python3'
  local requirements=python/$1.txt key folder log
  key=$1-$(python3 --version | tr -cd '0-9.')-$(cksum <"$requirements" | cut -d ' ' -f 1)
  folder=$OUTSIDE_CACHE/$key
  python=$folder/bin/python
  [ -e "$folder/complete" ] && return
  log=$OUTSIDE_CACHE/$key.log
  rm -rf "$folder"
  mkdir -p "$OUTSIDE_CACHE"
  python3 -m venv "$folder" >"$log" 2>&1 || skip "python3 can't make an environment: $(tail -n 1 "$log")"
  "$python" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 --timeout 15 \
    -r "$requirements" >"$log" 2>&1 || skip "pip can't install its packages: $(tail -n 1 "$log")"
  touch "$folder/complete"
}
