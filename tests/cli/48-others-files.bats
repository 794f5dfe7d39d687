# Files of other programs into which relations are written: what is in them stays what it is, or nothing is written.
load helper

# Writes B, of A, into r.h5.
program() { printf 'input A from "r.h5:A"\nB[i,j] = A[i,j] * 2\noutput B to "r.h5:%s"\n' "${1-B}" >p.tra; }

# makes CODE: python on f, the new file r.h5, which has the matrix A
makes() {
    "$PYTHON" -c "
import h5py, numpy as np, sys
with h5py.File('r.h5', 'w', **eval(sys.argv[1])) as f:
    f['A'] = np.arange(6.).reshape(2, 3)
$(sed 's/^/    /' <<<"$1")" "${2-{\}}"
}

# holds CODE: python on f, r.h5 with the relation B
holds() {
    status 0 "$PYTHON" -c "
import h5py, numpy as np
with h5py.File('r.h5') as f:
    assert f['B'][1, 2] == 10 and f['A'][1, 2] == 5
$(sed 's/^/    /' <<<"$1")"
}

@test "references of other programs lead where they led, in attributes and datasets, alone and in compounds and lists" {
    makes '
c = f.create_dataset("obs/cat", data=np.array([b"a", b"b"]))
f["obs/kind"] = np.array([0, 1], "i1")
f["obs/kind"].attrs["categories"] = c.ref
f.attrs["main"] = f["obs"].ref
f.attrs["self"] = f.ref
f["cells"] = np.array([c.ref, f["A"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
pair = np.dtype([("n", "i4"), ("to", h5py.ref_dtype), ("two", h5py.ref_dtype, (2,))])
f["pairs"] = np.array([(1, c.ref, [c.ref, f["obs"].ref])], dtype=pair)
f["A"].attrs["pair"] = np.array([(2, f["obs/kind"].ref, [c.ref, c.ref])], dtype=pair)
lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
lists[0] = np.array([c.ref, f["obs"].ref], dtype=h5py.ref_dtype)
f["regions"] = np.array([f["A"].regionref[1, 0:2]], dtype=h5py.regionref_dtype)
f["A"].attrs["part"] = f["A"].regionref[:, 2]
big = f.create_dataset("many", (300000,), dtype=h5py.ref_dtype)
big[299999] = c.ref'
    program
    for name in B g/B B; do
        program $name
        status 0 tra run -q p.tra
    done
    holds '
name = lambda r: f[r].name
assert name(f["obs/kind"].attrs["categories"]) == "/obs/cat" and name(f.attrs["main"]) == "/obs" and name(f.attrs["self"]) == "/"
assert [name(r) for r in f["cells"][:2]] == ["/obs/cat", "/A"] and not f["cells"][2]
p = f["pairs"][0]
assert p["n"] == 1 and name(p["to"]) == "/obs/cat" and [name(r) for r in p["two"]] == ["/obs/cat", "/obs"]
assert name(f["A"].attrs["pair"][0]["to"]) == "/obs/kind"
assert [name(r) for r in f["lists"][0]] == ["/obs/cat", "/obs"] and len(f["lists"][1]) == 0
r = f["regions"][0]
assert f[r].name == "/A" and f["A"][r].ravel().tolist() == [3, 4]
assert f["A"][f["A"].attrs["part"]].ravel().tolist() == [2, 5]
assert name(f["many"][299999]) == "/obs/cat" and not f["many"][0]'
}

@test "an object with several names stays one object, also a group, and types with names stay those of their datasets" {
    makes '
f["g/x"] = np.arange(3)
f["h/y"] = f["g/x"]
f["again"] = f["g"]
f["g/up"] = f["/"]
f["soft"] = h5py.SoftLink("/g/x")
f["z_type"] = np.dtype([("a", "i4")])
f.create_dataset("of_type", (2,), dtype=f["z_type"])'
    program
    status 0 tra run -q p.tra
    holds '
assert f["g/x"] == f["h/y"] == f["again/x"] == f["soft"] and f["again"] == f["g"] and f["g/up"] == f["/"]
assert h5py.h5o.get_info(f["g/x"].id).rc == 2
t = f["of_type"].id.get_type()
assert t.committed() and h5py.h5o.get_info(t).addr == h5py.h5o.get_info(f["z_type"].id).addr'
}

@test "what is referred to and is replaced is what the reference leads to; what has no name any more is refused" {
    makes '
f["B"] = np.zeros((2, 3))
f.attrs["result"] = f["B"].ref'
    program
    status 0 tra run -q p.tra
    holds 'assert f[f.attrs["result"]].name == "/B" and f[f.attrs["result"]][1, 2] == 10'
    makes '
f["gone"] = np.arange(3)
f.attrs["keep"] = f["gone"].ref
del f["gone"]'
    cp r.h5 before.h5
    run tra run -q p.tra
    if [ "$status" = 0 ]; then # the reference led nowhere before
        holds 'assert True'
    else
        [ "$status" = 3 ]
        cmp r.h5 before.h5
    fi
}

@test "a file with a user block, as MATLAB writes it, is not rewritten" {
    makes 'f.attrs["x"] = 1' '{"userblock_size": 512}'
    printf 'MATLAB 7.3 MAT-file' | dd of=r.h5 conv=notrunc status=none
    cp r.h5 before.h5
    program
    status 3 tra run -q p.tra
    [[ $output == *"user block of 512 bytes"* ]]
    cmp r.h5 before.h5
}
