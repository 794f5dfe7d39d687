"""damage.py TRA PROGRAM: a.h5 with one bit of its relation flipped, here and there in each of its components, and cut
short. `tra verify` must find and name each; whoever reads it must too, or not read what is damaged. PROGRAM reads
bad.h5. Prints what was not found, and how many places were tried."""

import subprocess
import sys

import h5py

tra, program = sys.argv[1:]
whole = open("a.h5", "rb").read()


def run(*command):
    r = subprocess.run([tra, *command], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def chunks(d):
    if d.chunks:
        return [(c.byte_offset, c.size) for c in map(d.id.get_chunk_info, range(d.id.get_num_chunks()))]
    return [(d.id.get_offset(), d.id.get_storage_size())]


def names(said, name):
    return not name or name in said.replace("bad.h5:data", "")


def try_it(name, what, bad, runs):
    with open("bad.h5", "wb") as f:
        f.write(bad)
    status, said = run("digest", "bad.h5")
    same = status == 0 and said.split()[0] == sound  # as the first of pointers, a 0 that nobody needs, is damaged
    if not same and (status != 3 or not names(said, name)):
        print("digest, %s: status %d, %s" % (what, status, said))
    status, said = run("verify", "bad.h5")
    if not (same and status == 0) and (status not in (1, 3) or not names(said, name)):
        print("verify, %s: status %d, %s" % (what, status, said))
    if runs and not same:
        status, said = run("run", "-q", program)
        if status != 3 or not names(said, name):
            print("run, %s: status %d, %s" % (what, status, said))


sound = run("digest", "a.h5")[1].split()[0]
with h5py.File("a.h5") as f:
    data = f["data"]
    sets = {"": data} if isinstance(data, h5py.Dataset) else dict(data)
    parts = {k: chunks(d) for k, d in sets.items()}
n = 0
for name, all in parts.items():
    for at in sorted({all[0][0], all[0][0] + all[0][1] // 2, all[-1][0] + all[-1][1] - 1}):
        bad = bytearray(whole)
        bad[at] ^= 0x10
        try_it(name, "byte %d, of %s" % (at, name or "data"), bad, at == all[0][0] + all[0][1] // 2)
        n += 1
for end in (len(whole) - 1, len(whole) // 2):
    try_it("", "cut after %d bytes" % end, whole[:end], False)
print("%d places in %d components" % (n, len(sets)))
