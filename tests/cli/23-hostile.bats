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
