# Shared by the install scripts here and by tests/run; sourced, not run.

# Says on stderr what is about to be installed: stdout belongs to the scripts' results.
say() { echo "install: $*" >&2; }

# apt_install PACKAGE...: installs what is missing of these Debian packages.
apt_install() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    say "missing: ${missing[*]}; there is no apt-get here to install them with, so please install them by hand"
    return 1
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
  say "${missing[*]} (apt)"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# pip_install FOLDER PACKAGE==VERSION: unpacks one wheel below FOLDER, without its dependencies.
pip_install() {
  python3 -m pip --version >/dev/null 2>&1 || apt_install python3 python3-pip
  say "$2 (pip, into $1)"
  python3 -m pip install --quiet --no-deps --only-binary :all: --no-compile --root-user-action ignore \
    --upgrade --target "$1" "$2" >&2 && return
  say "$2 did not come: can the package registry that pip is configured for be reached?"
  return 1
}
