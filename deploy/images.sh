#!/usr/bin/env bash
# Builds the image of every service and of the setup step, each by image.sh, which says how they are built and loaded.
#
#   IMAGE_PREFIX  before a service's name, gatehouse/ by default
#   IMAGE_TAG     the release of package.json by default
#   SERVICES      which, by default all: a new folder under services/ is a new image
#
# Prints one line per image: what it is called.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=${IMAGE_PREFIX-gatehouse/}
tag=${IMAGE_TAG:-$(sed -nE 's/^  "version": "(.*)",$/\1/p' package.json)}
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)

for service in ${SERVICES:-$(cd services && echo *) setup}; do
  folder=services/$service
  [ "$service" != setup ] || folder=deploy/setup
  [ -f "$folder/package.json" ] || { echo "there is no service $service" >&2; exit 1; }
  bash deploy/image.sh "$prefix$service:$tag" deploy/Dockerfile . --build-arg "SERVICE=$service" \
    --build-arg "FOLDER=$folder" --build-arg "VERSION=$tag" --build-arg "REVISION=$revision"
done
