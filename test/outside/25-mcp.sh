# Tools of the reference server of MCP through the gateway, and the official conformance tests of MCP clients.
source ./lib.sh
folder=$OUTSIDE_CACHE/mcp-$(cksum <mcp/versions.json | cut -d ' ' -f 1)
if [ ! -e "$folder/complete" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  cp mcp/versions.json "$folder/package.json"
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$folder.log" 2>&1 ||
    skip "npm can't install the servers: $(tail -n 1 "$folder.log")"
  touch "$folder/complete"
fi
exec node mcp/mcp.ts "$folder/node_modules/@modelcontextprotocol"
