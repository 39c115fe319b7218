# The units of deploy/systemd, by systemd's own checker: each directive is known, and each program can be executed.
source ./lib.sh
command -v systemd-analyze >/dev/null || skip 'there is no systemd-analyze'
root=$(cd ../.. && pwd)
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
for unit in "$root"/deploy/systemd/*.service; do
  sed "s#/opt/gatehouse#$root#g" "$unit" >"$units/$(basename "$unit")"
done
for unit in "$units"/*.service; do
  name=$(basename "$unit")
  # It also reports what it only ignores, and ends with 0 then.
  problems=$(systemd-analyze verify --man=no "$unit" 2>&1)
  if [ -z "$problems" ]; then printf 'ok: %s has no problem\n' "$name"; else
    printf 'failed: %s has no problem: %s\n' "$name" "$problems"
    failed=1
  fi
done
exit "${failed:-0}"
