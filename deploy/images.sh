#!/usr/bin/env bash
# Builds the images of all services, of all of them in one process (composed), and of the setup step. See image.sh for how an image is built and loaded.
#
#   IMAGE_PREFIX  prefix of the image names, by default gatehouse/
#   IMAGE_TAG     by default the version in package.json
#   SERVICES      names of the images to build, by default all folders in services/, composed and setup
#
# Prints the name of each image on a line.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=${IMAGE_PREFIX-gatehouse/}
tag=${IMAGE_TAG:-$(sed -nE 's/^  "version": "(.*)",$/\1/p' package.json)}
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)

for service in ${SERVICES:-$(cd services && echo *) composed setup}; do
  folder=services/$service
  case $service in composed | setup) folder=deploy/$service ;; esac
  [ -f "$folder/package.json" ] || { echo "unknown service: $service" >&2; exit 1; }
  bash deploy/image.sh "$prefix$service:$tag" deploy/Dockerfile . --build-arg "SERVICE=$service" \
    --build-arg "FOLDER=$folder" --build-arg "VERSION=$tag" --build-arg "REVISION=$revision"
done
