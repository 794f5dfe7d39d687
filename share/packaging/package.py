# Spack recipe of tra. Put it into a repository of packages as packages/tra/package.py:
#
#   spack repo create $HOME/spack-tra tra
#   repo=$(dirname "$(find $HOME/spack-tra -name repo.yaml)")      # Spack 1.0 has folders in between
#   mkdir -p $repo/packages/tra && cp share/packaging/package.py $repo/packages/tra/ && spack repo add $repo
#   spack dev-build tra@main        # in a checkout
from spack.package import *

try:  # its place since Spack 1.0; before, spack.package has it
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Tra(MakefilePackage):
    """Tables, matrices and tensors larger than memory, on one machine or several."""

    license("Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=True, description="several sites; without it a program has one")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hdf5@1.10:+hl~mpi+szip")
    depends_on("openblas threads=pthreads")
    depends_on("zstd")
    depends_on("xxhash")
    depends_on("zlib-api")
    depends_on("pcre2")
    depends_on("sleef")
    depends_on("mpi", when="+mpi")

    def flags(self):
        # Spack's compiler wrapper knows where headers and libraries are; pkg-config has other names for HDF5 there.
        # It works in builds alone: kernels, which a program compiles as it runs, are for the compiler itself.
        spec = self.spec
        words = [
            f"CC={spack_cc}",
            f"PREFIX={self.prefix}",
            f"HDF5_PLUGIN_DIR={self.prefix.lib.hdf5.plugins}",
            f"PKG_CFLAGS=-I{spec['openblas'].prefix.include}",
            "PKG_LIBS=-lhdf5 -lzstd -lxxhash -lopenblas -lz -lpcre2-8",
            f"KERNEL_CC={self.compiler.cc}",
        ]
        words.append(f"MPICC={spec['mpi'].mpicc}" if "+mpi" in spec else "MPI=no")
        return words

    def build(self, spec, prefix):
        make(*self.flags(), "all")

    def install(self, spec, prefix):
        make(*self.flags(), "install")
