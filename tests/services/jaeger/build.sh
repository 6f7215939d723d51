#!/usr/bin/env bash
# Builds the pinned Jaeger (go.mod) into a cache folder and prints the path of the binary; a second call only prints it.
# The module has no page, only a placeholder: the API is what is tested. The first build takes about ten minutes on two cores.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export PATH="$PATH:/usr/local/go/bin"
key="$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | sha256sum | cut -c1-16)"
cache="${ORBITRELAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/orbitrelay-tests}/jaeger-$key"
if [ ! -x "$cache/jaeger" ]; then
  mkdir -p "$cache"
  (
    cd "$here"
    CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$cache/jaeger.new" github.com/jaegertracing/jaeger/cmd/jaeger
  ) >&2
  mv "$cache/jaeger.new" "$cache/jaeger"
fi
echo "$cache/jaeger"
