# Coding agents from npm hold a session with a tool call, through the gateway.
source ./lib.sh
command -v npm >/dev/null || skip 'there is no npm'
folder=$OUTSIDE_CACHE/coding-agents-$(cksum <coding-agents/versions.json | cut -d ' ' -f 1)
if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  cp coding-agents/versions.json "$folder/package.json"
  # Codex alone unpacks to 424 MB.
  timeout 180 npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$folder.log" 2>&1 ||
    skip "npm can't install the programs: $(tail -n 1 "$folder.log")"
  touch "$folder/complete"
fi
exec node coding-agents/coding-agents.ts "$folder/node_modules"
