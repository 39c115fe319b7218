# Schemathesis makes up requests by our own OpenAPI document, right ones and wrong ones, with a key of each role. No
# answer may be a 5xx, and each must have a status, type, headers and body that the document has. It changes and deletes
# what it meets.
source ./lib.sh
command -v curl >/dev/null || skip 'there is no curl'
python_environment schemathesis

credential() {
  node -p "JSON.parse(fs.readFileSync('$GATEHOUSE_STATE/credentials.json', 'utf8')).$1"
}
url=$(credential url) || exit
# The key's id and its tenant's; fails when the key does not work.
whoami() {
  curl -sSf "$url/v1/whoami" -H "Authorization: Bearer $(credential "$1_key")" |
    node -p 'const { key_id, tenant_id } = JSON.parse(fs.readFileSync(0, "utf8")); `${key_id} ${tenant_id ?? ""}`'
}
PROTECTED_IDS=$(whoami user && whoami admin && whoami owner) || exit
export PROTECTED_IDS PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 SCHEMATHESIS_HOOKS=schemathesis_hooks

# Operations that answer each key alike: random requests come with the key of the user alone.
alike='^/v1/(chat|embeddings|moderations|messages|responses|models|files|batches|limits|usage|costs|whoami|me|session)(/|$)|^/v1beta/|^/login/|^/(health|api)'

# It keeps files where it runs. One worker each: its own threads get in each other's way under Python 3.11.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fuzz() {
  # Each where it gets in; that every other operation answers it with 403 is quicker seen in test/e2e/openapi.test.ts.
  # Left out: JSON lines, which it can't write; extraction, whose 502 says what the simulator answers; and the consent
  # page, which is for browsers unless the request has a key.
  local left_out='^/internal/|/memory/import$|/kg/extract$|/zalo-oa/consent$'
  [ "$1" = user ] && left_out="$left_out|^/v1/((api|provider)-keys|tenant/|users/|channels/|webhooks/(endpoints|subscriptions|calls))"
  # Operations with a second path have the same shapes and handlers there: seen at both with the key of the user.
  [ "$1" = admin ] && left_out="$left_out|^/openai/|^/v1/models/\\{id\\}:"
  local paths=(--exclude-path-regex "$left_out") phases=examples,coverage,fuzzing,stateful
  [ "$1" = owner ] && paths=(--include-path-regex '^/internal/')
  # What is wrong in itself is refused alike with each key: seen with that of the admin.
  [ "$1" = user ] && phases=examples,fuzzing
  mkdir "$folder/$1" && cd "$folder/$1" || return
  [ "$1" = admin ] &&
    printf "[[operations]]\ninclude-path-regex = '%s'\nphases.fuzzing.enabled = false\n" "$alike" >schemathesis.toml
  "$python" -m schemathesis.cli run "$url/openapi.json" "${paths[@]}" --phases "$phases" -H "Authorization: Bearer $(credential "$1_key")" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,allowed_methods,unsupported_method,wrong_data_refused,documented_error_code \
    --max-examples 6 --seed 1 --workers 1 --suppress-health-check all --request-timeout 30 \
    --continue-on-failure --warnings off --no-color >"$folder/$1.log" 2>&1
}

declare -A running
for role in user admin owner; do
  fuzz "$role" &
  running[$role]=$!
done
status=0
for role in user admin owner; do
  # A key that was lost on the way would have been answered 401 from there on, which is documented.
  if wait "${running[$role]}" && whoami "$role" >/dev/null; then
    printf 'ok: with the %s key: %s\n' "$role" "$(grep -oE '[0-9]+ generated.*' "$folder/$role.log")"
  else
    sed 's/^/  /' "$folder/$role.log"
    printf 'failed: with the %s key: see above\n' "$role"
    status=1
  fi
done
exit "$status"
