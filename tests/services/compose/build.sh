#!/usr/bin/env bash
# Builds the loader that `docker compose` reads its files with (go.mod) into a cache folder and prints the path of its command.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export PATH="$PATH:/usr/local/go/bin"
key="$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | sha256sum | cut -c1-16)"
cache="${ORBITRELAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/orbitrelay-tests}/compose-$key"
if [ ! -x "$cache/compose-spec" ]; then
  mkdir -p "$cache"
  (cd "$here" && CGO_ENABLED=0 go build -trimpath -o "$cache/compose-spec.new" github.com/compose-spec/compose-go/v2/cmd) >&2
  mv "$cache/compose-spec.new" "$cache/compose-spec"
fi
echo "$cache/compose-spec"
