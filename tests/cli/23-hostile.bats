# Relations of strangers: whatever their attributes and tables say, commands refuse them or read them, and never abort.
load helper

# hostile SEED COUNT: so many files, each a whole relation of which the seals are broken and some attributes and tables
# drawn anew; fails unless each command ends with a status for a damaged file, or for a program that does not fit it.
hostile() {
    cat >hostile.py <<'EOF2'
import random, shutil, subprocess, sys
import h5py, numpy as np
tra, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ODD = [-1, 0, 1, 2, 3, 4, 5, 8, 31, 32, 63, 64, -2, 127, 255, 2**31, 2**32, 2**62, 2**63 - 1, -2**63]
ATTRIBUTES = ["tra_rank", "tra_layout", "tra_keys", "tra_cuts", "tra_extents", "tra_format"]
TABLES = [".tra/data/keys", ".tra/data/extents", ".tra/data/xxh64"]

def number(r):
    return r.randrange(4) if r.random() < 0.6 else r.choice(ODD)

def changed(r, old):
    new = np.array(old, dtype="i8").reshape(-1)
    if new.size:
        new[r.randrange(new.size)] = number(r)
    return new.reshape(np.shape(old))

def damage_attribute(r, d):
    name = r.choice(ATTRIBUTES)
    old = d.attrs.get(name)
    how = r.randrange(6)
    if old is not None and not isinstance(old, (str, bytes)) and how < 4:
        d.attrs[name] = changed(r, old)
    elif how == 4:
        d.attrs[name] = np.array([number(r) for i in range(r.randrange(7))], dtype="i8")
    elif how == 5:
        d.attrs[name] = np.bytes_(r.choice(["tuple", "tensor", "", "/", ".tra/data/extents", ".tra/data/keys"]))
    elif old is not None:
        del d.attrs[name]

def damage_table(r, f):
    name = r.choice(TABLES)
    if name in f and r.random() < 0.7:
        old = f[name][...]
        if old.size and old.dtype == np.dtype("i8"):
            f[name][...] = changed(r, old)
        f[name].attrs.pop("tra_seal", None)
    elif name in f:
        del f[name]

for i in range(seed, seed + count):
    r = random.Random(i)
    shutil.copy(r.choice(["grid.h5", "clipped.h5", "holes.h5", "sizes.h5"]), "A.h5")
    with h5py.File("A.h5", "r+") as f:
        for o in [f["data"], f.get(".tra/data")]:
            if o is not None:
                o.attrs.pop("tra_seal", None)
        for k in range(r.randint(1, 3)):
            damage_attribute(r, f["data"]) if r.random() < 0.7 else damage_table(r, f)
    for command in ["info A.h5", "digest A.h5", "run -q p.tra --threads 1 --memory 200M --no-history"]:
        p = subprocess.run([tra] + command.split(), capture_output=True, text=True, timeout=60)
        if p.returncode not in (0, 2, 3, 4) or "crashed" in p.stderr or "ssertion" in p.stderr:
            sys.exit(f"seed {i}: tra {command}: {p.returncode}, {p.stderr}")
        if p.returncode and "tra: " not in p.stderr:
            sys.exit(f"seed {i}: tra {command}: {p.returncode}, and it says nothing")
EOF2
    "$PYTHON" hostile.py "$TRA" "$@"
}

@test "attributes and tables that say anything are refused or read, by all that opens them" {
    tra gen -q --shape 20x20 --block 8x8 --dist normal -o grid.h5
    printf '%s\n' 'input A from "grid.h5"' 'B = rekey(A, (i, j) -> (j, i + j))' 'C = filter(A, (i, j) -> i + 2 * j != 3)' \
        'D = rekey(C, (i, j) -> (i + j, j - i + 2))' 'output B to "clipped.h5"' 'output C to "holes.h5"' 'output D to "sizes.h5"' >made.tra
    tra run -q made.tra
    printf '%s\n' 'input A from "A.h5"' 'B = transform(A, neg)' 'C = agg(join(A, B, [], [], matadd), [0], matadd)' \
        'output B to "b.h5"' 'output C to "c.h5"' >p.tra
    hostile 1 60
}

@test "a dataset in another file is read there; a virtual dataset when all of its parts are there" {
    py '
with h5py.File("other.h5", "w") as f: f["g/y"] = np.arange(4.)
with h5py.File("in.h5", "w") as f:
    f["filler"] = np.full(2000, -99.); f["data"] = h5py.ExternalLink("other.h5", "/g/y")
    for name, parts in dict(whole=["other.h5", "other.h5"], part=["other.h5", "missing.h5"], gone=["other.h5", "in.h5"]).items():
        v = h5py.VirtualLayout(shape=(8,), dtype="f8")
        for i, p in enumerate(parts): v[4 * i:4 * i + 4] = h5py.VirtualSource(p, "g/y", shape=(4,))
        f.create_virtual_dataset(name, v)'
    is "0 1 2 3" echo $(tra export -q in.h5:data --to csv -o -)
    is "0 1 2 3 0 1 2 3" echo $(tra export -q in.h5:whole --to csv -o -)
    mkdir there
    mv in.h5 other.h5 there # the parts are looked for beside the file
    is "0 1 2 3" echo $(tra export -q there/in.h5:data --to csv -o -)
    is "0 1 2 3 0 1 2 3" echo $(tra export -q there/in.h5:whole --to csv -o -)
    status 3 tra digest there/in.h5:part
    has "missing.h5:g/y is not there"
    status 3 tra digest there/in.h5:gone
    has "in.h5:g/y is not there"
    printf '%s\n' 'input A from "there/in.h5:whole"' 'B = transform(A, neg)' 'output B to "b.h5"' >p.tra
    tra compile -q p.tra -o p.plan
    py 'f = h5py.File("there/other.h5", "a"); f["g/y"][0] = 7; f["more"] = np.arange(9)'
    status 3 tra run -q p.plan
    has "changed since the plan was made"
}

@test "one flipped bit in the description of a relation with holes, and what is left of one" {
    tra gen -q --shape 23x17 --block 7x6 --dist range -o a.h5
    printf '%s\n' 'input A from "a.h5"' 'G = filter(A, (i, j) -> (i + j) % 2 == 0)' 'output G to "h.h5"' \
        'T = tile(A, 0, 3)' 'output T to "t.h5"' >f.tra
    tra run -q f.tra
    for case in h:tra_format:-6:4 h:tra_format:16:64 t:tra_format:10:8 t:tra_format:23:4 h:TREE:6:4; do
        py '
f, what, at, bit = sys.argv[1].split(":"); b = bytearray(open(f + ".h5", "rb").read())
i = b.index(what.encode()) if what != "TREE" else b.index(b"TREE\x01\x00\x06\x00")
b[i + int(at)] ^= int(bit); open("in.h5", "wb").write(b)' $case
        status 3 tra verify in.h5
        has "in.h5:data: its "
        has "damaged"
    done
    for attribute in tra_format tra_seal tra_format,tra_seal tra_format,tra_seal,tra_rank,tra_layout,tra_keys; do
        cp h.h5 in.h5
        py 'd = h5py.File("in.h5", "a")["data"]
for a in sys.argv[1].split(","): del d.attrs[a]' $attribute
        if [ $attribute = tra_seal ]; then
            status 0 tra verify in.h5
            has "6 holes, checksums match"
            continue
        fi
        status 3 tra verify in.h5
        has "in.h5:data: "
    done
    has "there are tables of tra about it (.tra/data)"
    has "damaged, or was replaced by another program"
    py 'f = h5py.File("in.h5", "a"); del f[".tra/data"]'
    status 0 tra verify in.h5
    has "12 chunks, readable; the file has no checksums" # another program's by now
}

@test "a name with colons is what comes after two of them" {
    py '
with h5py.File("f.h5", "w") as f:
    f["a:b"] = np.arange(4.); f["x::y:z"] = np.arange(3.); f["c"] = np.arange(2.)'
    is "0 1 2 3" echo $(tra export -q f.h5::a:b --to csv -o -)
    is "0 1 2" echo $(tra export -q f.h5::x::y:z --to csv -o -)
    is "0 1" echo $(tra export -q f.h5::c --to csv -o -)
    status 3 tra info f.h5
    has "name one as in f.h5::a:b"
    printf '%s\n' 'input A from "f.h5::a:b"' 'B = transform(A, neg)' 'C = transform(B, neg)' \
        'output B to "g.h5::b:b"' 'output C to "g.h5::b:c"' >p.tra
    tra run -q p.tra
    py 'f = h5py.File("g.h5"); assert (f["b:b"][:] == -np.arange(4.)).all() and (f["b:c"][:] == np.arange(4.)).all()'
    status 0 tra verify g.h5::b:b
    has "checksums match"
    printf '%s\n' 'input A from "f.h5::a:b"' 'output A to "g.h5::b:b"' 'B = transform(A, neg)' 'output B to "./g.h5::b:b"' >p.tra
    status 2 tra check p.tra
    has "is the file of another output already"
}

@test "codes and bools in the statistics of a stranger that the column cannot have are not drawn to plan with" {
    printf 's,x\n%s' "$(for i in {1..40}; do echo "a$((i % 8))-b,$((i % 8))"; done)" >t.csv
    tra import -q --table t.csv -o t.h5
    local code
    for code in 2000000000 8 -1; do
        py "
import h5py
with h5py.File('t.h5', 'r+') as f:
    d = f['.tra/data/frequencies']
    v = d[()]
    assert v[7, 0] in (7, 8, 2000000000), v[:8]
    v[7, 0] = $code
    d[...] = v
    if 'tra_seal' in d.attrs: del d.attrs['tra_seal']"
        for e in 'select(t, count_parts(s, "-") > x)' 'select(t, contains(s, "3") == (x > 2))' \
            'group(t, [g = length(s) + x], n = count())'; do
            status 0 tra eval "$e" t=t.h5 || return 1
        done
    done
}
