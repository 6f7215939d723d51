#!/usr/bin/env bash
# Builds the pinned OpenTelemetry Collector into a cache folder and prints the path of the binary; a second call only prints it.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
version=v0.165.0
export PATH="$PATH:/usr/local/go/bin"
key="$(cat "$here/manifest.yaml" "$here/build.sh" | sha256sum | cut -c1-16)"
cache="${ORBITRELAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/orbitrelay-tests}/otelcol-$key"
if [ ! -x "$cache/otelcol" ]; then
  rm -rf "$cache/build"
  mkdir -p "$cache/build"
  cp "$here/manifest.yaml" "$cache/build/"
  # The builder only writes the sources: its `go mod tidy` would also fetch what the modules' own tests need.
  (
    cd "$cache/build"
    export CGO_ENABLED=0
    go run "go.opentelemetry.io/collector/cmd/builder@$version" --config manifest.yaml --skip-get-modules --skip-compilation
    go mod init orbitrelay.test/otelcol
    sed -n 's/^ *- gomod: \([^ ]*\) \(v.*\)$/\1@\2/p' manifest.yaml | xargs go get "go.opentelemetry.io/collector/otelcol@$version"
    go build -mod=mod -trimpath -o otelcol .
  ) >&2
  mv "$cache/build/otelcol" "$cache/otelcol"
fi
echo "$cache/otelcol"
