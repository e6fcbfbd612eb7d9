#!/usr/bin/env bash
# Installs a real VS Code workbench (code-server) with playwright-core from npm, and Chromium from apt as its screen.
#   tests/editors/install-code-server.sh PREFIX     leaves PREFIX/code-server and PREFIX/playwright-core
# Needs Node 20 in PATH (install-node.sh). Does nothing when a stamp says that all of it is there.
# The packages' own install scripts are not run, since they download from elsewhere; of the native modules only those
# are built that a language server's tests load.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/install-lib.sh"
VERSION=4.100.3 # VS Code 1.100.3, the last one on Node 20
PLAYWRIGHT=1.65.1
PREFIX=$(realpath -m "$1")
WANTED="code-server $VERSION, playwright-core $PLAYWRIGHT, node $(node --version) at $(command -v node)"

# Chromium can be another one (CHROMIUM=PATH); the others are for building the native modules.
packages=(build-essential python3 ripgrep)
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || packages+=(chromium)
apt_install "${packages[@]}"

if [ -f "$PREFIX/.stamp" ] && [ "$(cat "$PREFIX/.stamp")" = "$WANTED" ]; then exit; fi
say "$WANTED (npm, into $PREFIX)"
rm -rf "$PREFIX"
mkdir -p "$PREFIX"
cd "$PREFIX"
echo '{"private":true}' >package.json
npm_quiet() { npm "$@" --no-audit --no-fund --loglevel=error >&2; }
npm_quiet install --ignore-scripts "code-server@$VERSION" "playwright-core@$PLAYWRIGHT"
code=$PREFIX/node_modules/code-server
(cd "$code/lib/vscode" && npm_quiet install --omit=dev --ignore-scripts --engine-strict=false)
# argon2 is loaded at start-up, spdlog by every logger, native-watchdog (it was renamed) by the extension host.
npm_quiet rebuild argon2
cd "$code/lib/vscode"
npm_quiet rebuild @vscode/spdlog native-watchdog @vscode/native-watchdog
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sfn "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
ln -sfn node_modules node_modules.asar # extensions look for it
ln -sfn code-linux.sh bin/remote-cli/code-server
ln -sfn browser-linux.sh bin/helpers/browser.sh
ln -sfn node_modules/playwright-core "$PREFIX/playwright-core"
printf '#!/bin/sh\nexec "%s" "%s/out/node/entry.js" "$@"\n' "$(command -v node)" "$code" >"$PREFIX/code-server"
chmod +x "$PREFIX/code-server"
"$PREFIX/code-server" --config /dev/null --version >&2
echo "$WANTED" >"$PREFIX/.stamp"
