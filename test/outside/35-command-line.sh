# The tarball of the command line, by npx, with the machine's own Node instead of the project's.
source ./lib.sh
own_node=$(PATH=${PATH#*:} command -v node) || skip 'there is no node beside the project’s'
major=$("$own_node" -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || skip "node is $major"
command -v npx >/dev/null || skip 'there is no npx'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
credential() {
  node -p "JSON.parse(fs.readFileSync('$GATEHOUSE_STATE/credentials.json', 'utf8')).$1"
}
url=$(credential url) || exit
(cd ../.. && npm pack --workspace gatehouse --silent --pack-destination "$folder" >/dev/null) || exit
tarball=$(ls "$folder"/gatehouse-*.tgz) || exit

export XDG_CONFIG_HOME=$folder/config
status=0
check() {
  local what=$1 wanted=$2 answered
  shift 2
  answered=$(PATH=${PATH#*:} npx --yes --offline --package "$tarball" gatehouse "$@" 2>&1 </dev/null)
  if [[ $answered == *"$wanted"* ]]; then
    printf 'ok: %s\n' "$what"
  else
    printf 'failed: %s: %s\n' "$what" "$answered"
    status=1
  fi
}
credential admin_key | PATH=${PATH#*:} npx --yes --offline --package "$tarball" gatehouse login --url "$url" --key - >/dev/null || status=1
check 'whoami' '"role": "admin"' whoami --json
check 'a list as a table' 'assistant' agents list
check 'a list as CSV' 'id,key,name,' agents list --csv
check 'a streamed answer' 'You said: Hello' chat -m agent:assistant Hello
check 'an export of the tenant' 'key: assistant' export
check 'an error with its code' 'not_found' agents get there-is-none
check 'the words of a shell' 'list' complete-words -- agents li
exit "$status"
