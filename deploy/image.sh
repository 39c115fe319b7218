#!/usr/bin/env bash
# Builds one image and loads it for the cluster: image.sh NAME DOCKERFILE CONTEXT [--build-arg K=V …]
#
#   IMAGE_BUILD   called as: $IMAGE_BUILD DOCKERFILE CONTEXT TAG [--build-arg K=V …]; by default docker build.
#                 May print the path of an archive as its last line.
#   IMAGE_LOAD    called with that archive, otherwise with the tag; by default pushes to REGISTRY if that is set
#   REGISTRY      host and path of a registry, for the default IMAGE_LOAD
#
# Prints the name of the image.
set -euo pipefail

name=$1 dockerfile=$2 context=$3
shift 3

docker_build() {
  local file=$1 folder=$2 tag=$3
  shift 3
  docker build --file "$file" --tag "$tag" "$@" "$folder" >&2
}

push_to_registry() {
  [ -n "${REGISTRY:-}" ] || return 0
  docker tag "$1" "$REGISTRY/$1"
  docker push "$REGISTRY/$1" >&2
}

# Unquoted, because both may be commands with arguments.
# shellcheck disable=SC2086
output=$(${IMAGE_BUILD:-docker_build} "$dockerfile" "$context" "$name" "$@")
archive=$(tail -n 1 <<<"$output")
[ -f "$archive" ] || archive=$name
# shellcheck disable=SC2086
${IMAGE_LOAD:-push_to_registry} "$archive" >&2
echo "$name"
