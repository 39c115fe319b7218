#!/usr/bin/env bash
# Builds the image of every service and of the setup step, and brings each to where the cluster finds it.
#
#   IMAGE_PREFIX  before a service's name, gatehouse/ by default
#   IMAGE_TAG     the release of package.json by default
#   IMAGE_BUILD   called as: $IMAGE_BUILD DOCKERFILE CONTEXT TAG [--build-arg K=V …]; docker build by default.
#                 May print an archive's path as its last line.
#   IMAGE_LOAD    called with that archive, or else with the tag; by default pushes to REGISTRY where that is set
#   REGISTRY      host and path of a registry, for the default IMAGE_LOAD
#   SERVICES      which, by default all
#
# Prints one line per image: what it is called.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^  "version": "(.*)",$/\1/p' package.json)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
prefix=${IMAGE_PREFIX-gatehouse/}
tag=${IMAGE_TAG:-$version}
# The order does not matter; a new folder under services/ is a new image.
services=${SERVICES:-$(cd services && echo *) setup}

docker_build() {
  local file=$1 context=$2 name=$3
  shift 3
  docker build --file "$file" --tag "$name" "$@" "$context" >&2
}

push_to_registry() {
  [ -n "${REGISTRY:-}" ] || return 0
  docker tag "$1" "$REGISTRY/$1"
  docker push "$REGISTRY/$1" >&2
}

for service in $services; do
  folder=services/$service
  [ "$service" != setup ] || folder=deploy/setup
  [ -f "$folder/package.json" ] || { echo "there is no service $service" >&2; exit 1; }
  name=$prefix$service:$tag
  # May be a command with arguments.
  # shellcheck disable=SC2086
  output=$(${IMAGE_BUILD:-docker_build} deploy/Dockerfile . "$name" --build-arg "SERVICE=$service" \
    --build-arg "FOLDER=$folder" --build-arg "VERSION=$tag" --build-arg "REVISION=$revision")
  archive=$(tail -n 1 <<<"$output")
  [ -f "$archive" ] || archive=$name
  ${IMAGE_LOAD:-push_to_registry} "$archive" >&2
  echo "$name"
done
