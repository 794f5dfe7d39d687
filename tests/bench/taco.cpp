/* taco.cpp - a peer of tests/bench/run: taco's kernels of tensors, if there is a taco (TACO_DIR, with include/ and lib/).
 *
 * usage: taco mttkrp|ttm FILE...      B.tns, then the factors, csr: C.tns and D.tns, or D.tns
 *
 * For each line that it reads it prints the seconds of one computation (assembling the result and computing it), as
 * peers.py does; the kernel is compiled before. It uses 2 threads where taco parallelizes the outermost loop. */
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "taco.h"

using namespace taco;

/* A file as `tra export --to tns` writes it: a comment, rank and entries, extents, then an entry on each line. */
static Tensor<double> read(const std::string &file, const std::string &name, const Format &format) {
    std::ifstream in(file);
    std::string comment;
    int rank, at;
    size_t entries;
    double value;
    std::getline(in, comment);
    in >> rank >> entries;
    std::vector<int> extent(rank), place(rank);
    for (int &e : extent) in >> e;
    Tensor<double> t(name, extent, format);
    for (size_t i = 0; i < entries; i++) {
        for (int &p : place) in >> at, p = at - 1;
        in >> value;
        t.insert(place, value);
    }
    if (!in) {
        std::cerr << file << ": not as tra export writes it\n";
        exit(1);
    }
    t.pack();
    return t;
}

int main(int argc, char **argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (!(what == "mttkrp" && argc == 5) && !(what == "ttm" && argc == 4)) {
        std::cerr << "usage: taco mttkrp|ttm FILE...\n";
        return 2;
    }
    IndexVar i("i"), k("k"), l("l"), r("r");
    const Format csf({Sparse, Sparse, Sparse}), csr({Dense, Sparse});
    Tensor<double> B = read(argv[2], "B", csf), C = read(argv[3], "C", csr), D, A;
    taco_set_num_threads(2);
    const bool mttkrp = what == "mttkrp";
    if (mttkrp) {
        D = read(argv[4], "D", csr);
        A = Tensor<double>("A", {B.getDimension(0), C.getDimension(1)}, Format({Dense, Dense}));
    } else { /* a sparse last dimension would have to be put in order: taco has none for that */
        A = Tensor<double>("A", {B.getDimension(0), B.getDimension(1), C.getDimension(1)}, Format({Sparse, Sparse, Dense}));
    }
    for (std::string line; std::getline(std::cin, line);) {
        if (mttkrp) /* the result is forgotten; the kernel that was compiled is found again */
            A(i, r) = B(i, k, l) * C(k, r) * D(l, r);
        else
            A(i, k, r) = B(i, k, l) * C(l, r);
        A.compile();
        auto from = std::chrono::steady_clock::now();
        A.assemble();
        A.compute();
        std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() << std::endl;
    }
    return 0;
}
