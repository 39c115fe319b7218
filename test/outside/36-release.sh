# Two releases of one commit, made in clones at two paths with different settings of the shell: the same files.
source ./lib.sh
for tool in git tar sha256sum; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
repository=$(cd ../.. && pwd)
git -C "$repository" rev-parse HEAD >/dev/null 2>&1 || skip 'the repository is no clone'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# release FOLDER UMASK ZONE: makes a release in a clone, which uses the packages that are installed here.
release() {
  local clone=$folder/$1
  mkdir -p "$(dirname "$clone")"
  git clone --quiet --shared "$repository" "$clone"
  echo node_modules >>"$clone/.git/info/exclude"
  (cd "$repository" && ls -d node_modules {packages,services,deploy}/*/node_modules 2>/dev/null) |
    while read -r packages; do ln -s "$repository/$packages" "$clone/$packages"; done
  (umask "$2" && cd "$clone" && TZ=$3 node deploy/release/release.ts) >"$folder/log" 2>&1 ||
    { echo "failed: make release: $(tail -n 3 "$folder/log")"; exit 1; }
}

release one 022 UTC
release deeper/two 077 Asia/Kathmandu
one=$(echo "$folder"/one/dist/gatehouse-*) two=$(echo "$folder"/deeper/two/dist/gatehouse-*)

if difference=$(diff -r "$one" "$two"); then echo 'ok: two builds of one commit make the same files'
else echo "failed: two builds of one commit differ: $(head -n 5 <<<"$difference")"; fi

if (cd "$one" && sha256sum --check --strict --quiet SHA256SUMS); then echo 'ok: SHA256SUMS has the digest of each file'
else echo 'failed: SHA256SUMS has a wrong digest'; fi

(cd "$one" && ls | grep -v '^SHA256SUMS$') >"$folder/files"
if diff <(sed 's/^[^ ]*  //' "$one/SHA256SUMS") "$folder/files" >/dev/null; then echo 'ok: SHA256SUMS names every file'
else echo 'failed: SHA256SUMS lacks a file'; fi

npx --yes --package "$one"/gatehouse-*.tgz gatehouse --help >"$folder/help" 2>&1
if grep -q 'Usage: gatehouse' "$folder/help"; then echo 'ok: the package of the command line runs'
else echo "failed: the package of the command line: $(tail -n 3 "$folder/help")"; fi

missing=$(for image in $(ls "$repository/services") composed setup; do
  [ -s "$one/image-$image.cdx.json" ] && [ -s "$one/image-$image.files.sha256" ] || echo "$image"
done)
if [ -z "$missing" ]; then echo 'ok: each image has a bill of materials and the digests of its files'
else echo "failed: no bill of materials of $missing"; fi

if grep -q '"name": "uplot"' "$one/image-edge.cdx.json" && grep -q '"name": "commander"' "$one/cli.cdx.json"; then
  echo 'ok: bills of materials have the packages inside bundles'
else echo 'failed: a bill of materials lacks packages inside a bundle'; fi
