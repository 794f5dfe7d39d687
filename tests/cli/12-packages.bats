# How tra comes to others: the Debian package, the Spack recipe, the module file, completion in zsh and fish.
load helper

# deb: the package of this build, made once; its path is in $deb.
deb() {
    deb=$BATS_FILE_TMPDIR/tra.deb
    [ -z "${SAN:-}" ] || skip "a package of a program with sanitizers"
    command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev"
    [ -e "$deb" ] && return
    status 0 make --no-print-directory -s -C "$ROOT" B="${BUILD#"$ROOT"/}" deb
    mv "$output" "$deb"
}

# Removes what a package manager itself keeps, and what was there.
left() { find "$1" \( -type f -o -type l \) -printf '%P\n' | grep -v '^var/lib/dpkg/\|^var/log/\|^var/cache/\|^etc/ld.so.cache$'; }

@test "the package: what it needs is named, and lintian finds no error" {
    deb
    dpkg-deb -f "$deb" >fields
    grep -q '^Depends: .*libopenmpi.*openmpi-bin' fields
    grep -q '^Depends: .*libc6' fields
    grep -q '^Depends: .*libpcre2-8-0.*tzdata' fields
    dpkg-deb -c "$deb" >files
    for f in bin/tra share/man/man1/tra.1.gz share/bash-completion/completions/tra share/zsh/vendor-completions/_tra \
        share/fish/vendor_completions.d/tra.fish share/tra/batch/slurm.sh share/doc/tra/copyright; do
        grep -q " ./usr/$f\$" files || { echo "no $f"; false; }
    done
    awk '{ if ($2 != "root/root") bad = 1 } END { exit bad }' files
    command -v lintian >/dev/null || skip "no lintian"
    status 0 lintian --allow-root --fail-on error "$deb"
}

@test "the package: installed into a root of its own it runs, and removed it leaves nothing" {
    deb
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    mkdir -p root/var/lib/dpkg/{info,updates}
    touch root/var/lib/dpkg/status
    status 0 dpkg --root="$PWD/root" --force-depends --log=/dev/null -i "$deb"
    [ -x root/usr/bin/tra ]
    (
        PATH=$PWD/root/usr/bin:$PATH
        cd "$(mktemp -d -p .)"
        printf 'start,duration\nHarbour,310\nHill,655\nHarbour,860\n' >rides.csv
        is "Harbour,2,585" bash -c "tra eval 'group(rides, [start], n = count(), mean = mean(duration))' rides.csv |
            grep Harbour"
        tra gen -q --shape 9x9 -o a.h5
        same_output 'tra eval "sum A[i,j]" A=a.h5 --sites 2' '"$TRA" eval "sum A[i,j]" A=a.h5 --sites 2'
    )
    [ "$(left root | wc -l)" -gt 100 ]
    status 0 dpkg --root="$PWD/root" --force-depends --log=/dev/null -P tra
    [ -z "$(left root)" ] || { left root; false; }
}

@test "the package: dpkg -i into a copy of this system, where all that it needs is; apt-get remove takes it away again" {
    deb
    mkdir over
    # the copy is an overlay that only these commands see
    cat >within <<'END'
set -e
mount -t tmpfs tmpfs over
mkdir over/{up,work,root}
mount -t overlay overlay -o lowerdir=/,upperdir=over/up,workdir=over/work over/root || exit 77
mount -t proc proc over/root/proc || mount --rbind /proc over/root/proc
cp "$1" over/root/tra.deb
chroot over/root dpkg --configure -a
chroot over/root dpkg -i /tra.deb
chroot over/root sh -c 'cd /tmp && tra version && tra gen -q --shape 4x4 -o t.h5 && tra eval --sites 2 "sum A[i,j]" A=t.h5 &&
    man -w tra-run >/dev/null; rm t.h5'
chroot over/root apt-get remove -y -qq --purge tra
rm over/root/tra.deb
echo "left:"
find over/up -type f -path '*tra*' | grep -v /var/
END
    run unshare -m bash within "$deb"
    # shellcheck disable=SC2154
    [[ $status != 77 && $output != *"unshare failed"* && $output != *"permission denied"* ]] || skip "no overlay here"
    has "tra 0."
    has "left:"
    [ "${lines[-1]}" = "left:" ] || { echo "$output"; false; }
}

@test "completion of zsh and fish is made of the program's tables" {
    tra help zsh >_tra
    tra help fish >tra.fish
    for command in $(tra help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        grep -q "^    $command)" _tra
        for option in $(tra help "$command" | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p'); do
            sed -n "/^    $command)/,/;;/p" _tra | grep -q -- "--$option"
            grep -q "__fish_seen_subcommand_from $command' -l $option" tra.fish
        done
    done
    if command -v zsh; then
        zsh -n _tra
        is "0" zsh -f -c 'autoload -Uz compinit && compinit -D -d dump; fpath=(. $fpath); autoload -Uz _tra && whence -w _tra >/dev/null; echo $?'
    fi
    if command -v fish; then
        fish -n tra.fish
        for line in "tra versi" "tra help versi"; do
            is version fish -c "source tra.fish; complete -C '$line' | cut -f 1"
        done
        [[ $(fish -c 'source tra.fish; complete -C "tra run --transport "') == *files*mpi* ]]
    fi
}

@test "the Spack recipe's commands build and install, without pkg-config; the module file names the place" {
    mkdir spack spack/bin
    printf '#!/bin/sh\nexit 1\n' >spack/bin/pkg-config
    chmod +x spack/bin/pkg-config
    # stand-ins for what Spack gives a recipe; make only says what it would do
    cat >spack/package.py <<'END'
import os, pathlib, subprocess, sys
def ignore(*a, **k): pass
version = variant = license = ignore
def depends_on(what, **k): print("depends on", what)
spack_cc = "gcc"
class P(str):
    def __getattr__(self, name): return P(self + "/" + name)
class MakefilePackage: prefix, compiler = P("/opt/tra"), type("C", (), {"cc": "/opt/gcc/bin/gcc"})
def make(*words): subprocess.run(["make", "-n", "-C", os.environ["ROOT"], "B=" + os.getcwd() + "/b", *words], check=True)
END
    cat >try.py <<'END'
import sys, importlib.util
sys.modules["spack"] = type(sys)("spack")
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
stand = load("spack.package", "spack/package.py")
assert issubclass(load("recipe", sys.argv[1]).Tra, stand.MakefilePackage)
for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"): # where Spack 1.0 has the class
    sys.modules[name] = type(sys)(name)
place = sys.modules["spack_repo.builtin.build_systems.makefile"] = type(sys)("makefile")
place.MakefilePackage = stand.MakefilePackage
del stand.MakefilePackage
module = load("recipe", sys.argv[1])
class Of: prefix = stand.P("/opt/dep"); mpicc = "mpicc"
class Spec(dict):
    def __init__(self, mpi): self.mpi = mpi
    def __contains__(self, what): return self.mpi
    def __getitem__(self, name): return Of
for mpi in (True, False):
    p = module.Tra()
    p.spec = Spec(mpi)
    p.build(p.spec, p.prefix), p.install(p.spec, p.prefix)
END
    PATH=$PWD/spack/bin:$PATH status 0 "$PYTHON" try.py "$ROOT/share/packaging/package.py"
    has "mpi-mpicc/lib/run/comm.o"
    has "mpi-no/lib/run/comm.o"
    has "-I/opt/dep/include"
    has "/opt/tra/bin/tra"
    has "/opt/tra/lib/hdf5/plugins/libh5zzstd.so"
    has "/opt/gcc/bin/gcc"
    lacks "missing packages"
    # every library of the Makefile is there, and somebody brings it
    for library in $(sed -n 's/^    \(-lhdf5 .*\))$/\1/p' "$ROOT/Makefile"); do
        has " $library"
        grep -qi "depends on .*$(sed 's/^-l//; s/-8$//; s/^z$/zlib/' <<<"$library")" <<<"$output"
    done
    [ -n "${SAN:-}" ] || status 0 make --no-print-directory -C "$ROOT" B="${BUILD#"$ROOT"/}" install PREFIX="$PWD/pre"
    grep -q "set prefix \"$PWD/pre\"" pre/share/tra/modulefile
    grep -q "HDF5_PLUGIN_PATH \"$PWD/pre/lib/hdf5/plugins\"" pre/share/tra/modulefile
    [ -e pre/share/zsh/site-functions/_tra ]
    status 0 make --no-print-directory -C "$ROOT" uninstall PREFIX="$PWD/pre"
    [ -z "$(find pre -type f)" ] || { find pre -type f; false; }
}
