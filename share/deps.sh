#!/bin/bash
# What building and testing tra needs.
#
#   deps.sh build           says which packages a build lacks (status 1 if any)
#   deps.sh install         installs what is missing for building and testing, with apt-get
#   deps.sh install build   ... for building alone
#
# Looks for the things themselves (commands, libraries, modules), so that it is quick and that other ways of having
# them count. MPI (openmpi, mpich, no) says which MPI is to be built with; where MPICC is set, its own is there.
set -u

lacks=()
need() { # need PACKAGE COMMAND...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || lacks+=("$package")
}
have() { command -v "$1"; }

need gcc have gcc
need libc6-dev test -e /usr/include/stdlib.h
need make have make
mpi=${MPI:-openmpi}
[[ ${MPICC:-} ]] && mpi=own
pkgs=(libhdf5-dev:hdf5-serial libopenblas-dev:openblas libzstd-dev:libzstd libxxhash-dev:libxxhash zlib1g-dev:zlib
    libpcre2-dev:libpcre2-8)
case $mpi in
openmpi) pkgs+=(libopenmpi-dev:ompi-c) ;;
mpich) pkgs+=(libmpich-dev:mpich) ;;
own) need "$MPICC" have "$MPICC" ;;
esac
header() { compgen -G "/usr/include/$1" || compgen -G "/usr/include/*-linux-gnu/$1" || compgen -G "/usr/local/include/$1"; }
if have pkg-config >/dev/null && pkg-config --exists "${pkgs[@]#*:}" 2>/dev/null; then
    : # the quick way
elif [[ $mpi == openmpi || $mpi == mpich ]]; then
    have pkg-config >/dev/null || lacks+=(pkg-config)
    for p in "${pkgs[@]}"; do need "${p%:*}" pkg-config --exists "${p#*:}"; done
else
    need libhdf5-dev header hdf5/serial/hdf5.h
    need libopenblas-dev header 'openblas-*/cblas.h'
    need libzstd-dev header zstd.h
    need libxxhash-dev header xxhash.h
    need zlib1g-dev header zlib.h
    need libpcre2-dev header pcre2.h
fi
need libsleef-dev header sleef.h
need tzdata test -e /usr/share/zoneinfo/UTC
[[ $mpi == openmpi ]] && need openmpi-bin have mpirun
[[ $mpi == mpich ]] && need mpich have mpiexec.mpich

case $* in
build | 'install build') ;;
install)
    need bats have bats
    need libmpich-dev test -e "$(compgen -G '/usr/include/*-linux-gnu/mpich/mpi.h')" # the second MPI of the tests
    need mpich have mpiexec.mpich
    need procps have pgrep
    need dpkg-dev have dpkg-shlibdeps # of the package that tests build
    need hdf5-tools have h5dump
    need mandoc have mandoc
    module='import importlib.util as u, sys; sys.exit(not all(u.find_spec(m) for m in sys.argv[1:]))'
    python() { /usr/bin/python3 -c "$module" "$@"; }
    python numpy h5py scipy >/dev/null 2>&1 ||
        for m in numpy h5py scipy; do need "python3-$m" python "$m"; done
    for m in xarray netCDF4 anndata; do need "python3-${m,,}" python "$m"; done
    ;;
*)
    echo "usage: deps.sh build|install [build]" >&2
    exit 2
    ;;
esac

((${#lacks[@]})) || exit 0
if [[ $1 == build ]]; then
    echo "missing packages: ${lacks[*]}"
    echo "install them with 'make deps' (Debian, Ubuntu), or by hand"
    exit 1
fi
if ! have apt-get >/dev/null; then
    echo "missing: ${lacks[*]} (names of Debian packages); this machine has no apt-get, install them by hand" >&2
    exit 1
fi
root=()
if ((EUID != 0)); then
    if ! have sudo >/dev/null; then
        echo "missing packages: ${lacks[*]}; neither root nor sudo here, ask an administrator to install them" >&2
        exit 1
    fi
    root=(sudo)
fi
echo "installing: ${lacks[*]}"
quiet=(-y -qq -o Dpkg::Use-Pty=0)
"${root[@]}" apt-get update -qq &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${quiet[@]}" --no-install-recommends "${lacks[@]}"
