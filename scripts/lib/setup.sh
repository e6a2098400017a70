# Shared by the scripts: where things are, which Debian packages they need, and how a tree is configured and built.
# Sourced by bash; leaves the working directory in the project's root.
set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PROJECT=$PWD
export LC_ALL=C.UTF-8

# docs/dependencies.md says why each package is needed. A test keeps the two in step.
BUILD_PACKAGES=(cmake ninja-build g++ pkg-config python3
  libunwind-dev libdw-dev libelf-dev libzstd-dev libxxhash-dev libpapi-dev
  rapidjson-dev libcli11-dev libfmt-dev libotf2-trace-dev pybind11-dev python3-dev
  bison flex libsqlite3-dev libpq-dev libpugixml-dev zlib1g-dev)
OPENMPI_PACKAGES=(libopenmpi-dev openmpi-bin)
MPICH_PACKAGES=(libmpich-dev mpich)
EXAMPLE_PACKAGES=("${OPENMPI_PACKAGES[@]}" gfortran)
TEST_PACKAGES=("${EXAMPLE_PACKAGES[@]}" "${MPICH_PACKAGES[@]}"
  libgtest-dev nlohmann-json3-dev libbenchmark-dev clang-format binutils lammps lammps-examples netpipe-openmpi netpipe-tcp
  musl-tools netbase otf2-tools python3-otf2 python3-six python3-mpi4py
  python3-pandas python3-pip python3-setuptools python3-venv python3-wheel make valgrind xz-utils autoconf automake libtool
  postgresql)
# npm builds the page of `refrain view`, and the page is tested in these browsers. An npm from another source is kept.
PAGE_PACKAGES=(chromium firefox-esr)
command -v npm >/dev/null || PAGE_PACKAGES+=(npm)
# Third-party programs that read the output of `refrain export`.
WITNESS_PACKAGES=(golang-go protobuf-compiler)
DEMO_PACKAGES=(lammps netbase)

# Refrain is built for the installed MPIs, or for Open MPI if there is none.
if command -v mpicc.openmpi >/dev/null || ! command -v mpicc.mpich >/dev/null; then BUILD_PACKAGES+=("${OPENMPI_PACKAGES[@]}"); fi
if command -v mpicc.mpich >/dev/null; then BUILD_PACKAGES+=("${MPICH_PACKAGES[@]}"); fi

say() { printf '%s\n' "-- $*" >&2; }

# install_packages NAME...: installs the missing ones with apt-get, through sudo if not root. Quick if none is missing.
install_packages() {
  local missing=() name as_root=()
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here; please provide what these Debian packages hold: ${missing[*]}"
    return 0
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "missing packages, and neither root nor sudo: ${missing[*]}"; exit 1; }
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2
}

# tree_of PRESET: prints its build directory, as in CMakePresets.json.
tree_of() { [ "$1" = release ] && echo build || echo "build-$1"; }

# commands_found: prints the commands that decide what is built. Packages installed since the tree was configured may
# have added one.
commands_found() {
  local name
  for name in mpicc.openmpi mpicc.mpich gfortran valgrind; do command -v "$name" || true; done
}

# is_configured DIRECTORY: whether it is configured, with the commands that exist now.
is_configured() { [ -f "$1/build.ninja" ] && [ "$(cat "$1/commands-found" 2>/dev/null)" = "$(commands_found)" ]; }

# configure DIRECTORY CMAKE OPTION...
configure() {
  cmake "${@:2}" >&2
  commands_found >"$1/commands-found"
}

# configure_tree PRESET [CMAKE OPTION...]: configures if something changed.
configure_tree() {
  local tree
  tree=$(tree_of "$1")
  if [ $# -gt 1 ] || ! is_configured "$tree"; then configure "$tree" --preset "$@"; fi
}

# configure_part PRESET PART [CMAKE OPTION...]: configures, if something changed, the examples, tests or benchmarks:
# projects of their own, built into directories of their own below the tree.
configure_part() {
  local part=$2 tree
  tree=$(tree_of "$1")
  if [ $# -gt 2 ] || ! is_configured "$tree/$part"; then
    configure "$tree/$part" -S "$part" -B "$tree/$part" -G Ninja -D "REFRAIN_BUILD=$PWD/$tree" "${@:3}"
  fi
}

# run_build DIRECTORY [CMAKE OPTION...]
run_build() { cmake --build "$@" --parallel "$(nproc)" >&2; }

# build_tree PRESET [CMAKE OPTION...], build_part PRESET PART [CMAKE OPTION...]: configures, and builds what users need,
# or the part.
build_tree() { configure_tree "$@" && run_build "$(tree_of "$1")"; }
build_part() { configure_part "$@" && run_build "$(tree_of "$1")/$2"; }

# build_targets PRESET TARGET..., build_part_targets PRESET PART TARGET...: builds only these targets.
build_targets() { configure_tree "$1" && run_build "$(tree_of "$1")" --target "${@:2}"; }
build_part_targets() { configure_part "$1" "$2" && run_build "$(tree_of "$1")/$2" --target "${@:3}"; }

# install_page_packages: installs those of page/package.json in page/, in the versions of the lock file if there is one.
install_page_packages() {
  local installed=node_modules/.package-lock.json
  if [ -f $installed ] && [ ! package.json -nt $installed ]; then return 0; fi
  if [ -f package-lock.json ]; then npm ci --no-audit --no-fund; else npm install --no-audit --no-fund; fi
}

# build_page: builds page/dist/explorer.html, which `refrain view` writes, if something changed. Does nothing without
# npm: the rest of the build works, and `refrain view` says how to get the page.
build_page() {
  local page=page/dist/explorer.html
  if [ -f $page ] && [ -z "$(find page -path page/node_modules -prune -o -path page/dist -prune -o -type f -newer $page -print -quit)" ]; then return 0; fi
  if ! command -v npm >/dev/null; then
    [ -f $page ] || say "no npm: refrain view is built without its page"
    return 0
  fi
  say "building the page of refrain view"
  if ! (cd page && install_page_packages && npm run build) >&2; then
    [ -f $page ] || { say "the page of refrain view cannot be built; the rest goes on"; return 0; }
    say "the page of refrain view cannot be built: the one of before stays"
  fi
}

# mpi_environment: lets both MPIs start as root (containers) and with more ranks than cores, over shared memory.
mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader
}
