# tra info.
load helper

@test "statistics of infinities of both signs" {
    py 'np.save("i.npy", np.array([1, np.inf, -np.inf, 2]))'
    tra import -q i.npy -o i.h5
    status 0 tra info --stats i.h5
    has "min -inf, max inf, mean nan, 0 NaN"
    status 0 tra info --stats --format json i.h5
    lacks "-nan"
}

@test "info of a tensor, text and JSON" {
    tra gen -q --shape 10x7 --block 4x3 -o a.h5
    status 0 tra info a.h5
    has "f64 10 x 7"
    has "blocks      4 x 3, frontier <3,3>, 9 tuples, no holes"
    has "codec       none"
    has "checksums   yes"
    lacks "values"
    status 0 tra info --format json a.h5 a.h5:data
    is a.h5 json relations.0.name
    is a.h5:data json relations.1.name
    is data json relations.0.dataset
    is f64 json relations.0.dtype
    is "[10, 7]" json relations.0.shape
    is "[3, 3]" json relations.0.frontier
    is "[4, 3]" json relations.0.bound
    is "[4, 3]" json relations.0.chunk
    is 9 json relations.0.tuples
    is 0 json relations.0.holes
    is 70 json relations.0.floats
    is tensor json relations.0.layout
    is false json relations.0.foreign
    is true json relations.0.checksums
    is "$(digest_of a.h5)" json relations.0.digest
}

@test "info --stats agrees with numpy, NaN aside" {
    py '
a = np.random.default_rng(1).normal(size=(37, 23)); a[3, 4] = np.nan; a[36, 22] = np.nan; a[0, 0] = -50
with h5py.File("a.h5", "w") as f: f.create_dataset("data", data=a, chunks=(10, 10))
np.save("a.npy", a)'
    status 0 tra info --stats --format json a.h5
    py '
a = np.load("a.npy"); s = json.loads(sys.argv[1])["relations"][0]["stats"]
assert s["min"] == np.nanmin(a) and s["max"] == np.nanmax(a) and s["nan"] == 2, s
assert abs(s["mean"] - np.nanmean(a)) < 1e-14, s' "$output"
    status 0 tra info --stats a.h5
    has "min -50, max"
    has "2 NaN"
    has "written by another program"
}

@test "info --stats of f32, of infinities, of nothing but NaN, of nothing" {
    py '
with h5py.File("a.h5", "w") as f:
    f["f32"] = np.array([[1.5, -2.5]], "f4"); f["inf"] = np.array([np.inf, 1, -np.inf])
    f["nan"] = np.array([np.nan, np.nan]); f["none"] = np.zeros((0, 4))'
    status 0 tra info --stats --format json a.h5:f32 a.h5:inf a.h5:nan a.h5:none
    is f32 json relations.0.dtype
    is '{"min": -2.5, "max": 1.5, "mean": -0.5, "nan": 0}' json relations.0.stats
    is '{"min": null, "max": null, "mean": null, "nan": 0}' json relations.1.stats
    is '{"min": null, "max": null, "mean": null, "nan": 2}' json relations.2.stats
    is '{"min": null, "max": null, "mean": null, "nan": 0}' json relations.3.stats
    is "[0, 4]" json relations.3.shape
    status 0 tra info --stats a.h5:inf
    has "min -inf, max inf"
}

@test "info of files that numpy's friends wrote" {
    py '
with h5py.File("a.h5", "w") as f:
    f.create_dataset("gz", data=np.arange(24, dtype="i4").reshape(2, 3, 4), chunks=(1, 3, 2), compression="gzip", shuffle=True)
    f["plain"] = np.arange(10.0)'
    status 0 tra info --format json a.h5:gz
    is i32 json relations.0.dtype
    is "[2, 3, 4]" json relations.0.shape
    is "[2, 1, 2]" json relations.0.frontier
    is true json relations.0.foreign
    is false json relations.0.checksums
    status 0 tra info --format json a.h5:plain
    is "[10]" json relations.0.shape
    status 3 tra info a.h5
    has "a.h5"
}

@test "integers and booleans have their type, and statistics to the last digit" {
    py '
with h5py.File("a.h5", "w") as f:
    f["i64"] = np.array([[2**53 + 1, -2**63], [2**63 - 1, 5]]); f["i32"] = np.array([-7, 3], "i2")
    f["bool"] = np.array([True, False, True, True]); f["none"] = np.zeros((0, 3), int)
    f["u64"] = np.array([7, 2**63 - 1], "u8"); f["large"] = np.array([[7], [2**63]], "u8")'
    status 0 tra info --stats --format json a.h5:i64 a.h5:i32 a.h5:bool a.h5:none a.h5:u64
    py '
r = {x["dataset"]: (x["dtype"], x["stats"]) for x in json.loads(sys.argv[1])["relations"]}
assert r["i64"] == ("i64", dict(min=-2**63, max=2**63 - 1, mean=(2**53 + 5) / 4, nan=0)), r
assert r["i32"] == ("i32", dict(min=-7, max=3, mean=-2, nan=0)), r
assert r["bool"] == ("bool", dict(min=0, max=1, mean=0.75, nan=0)), r
assert r["none"] == ("i64", dict(min=None, max=None, mean=None, nan=0)), r
assert r["u64"] == ("i64", dict(min=7, max=2**63 - 1, mean=2.0**62, nan=0)), r' "$output"
    status 0 tra info --stats a.h5:i64
    has "i64 2 x 2"
    has "min -9223372036854775808, max 9223372036854775807, mean"
    status 0 tra info a.h5:large
    has "i64 2 x 1"
    for command in "info -s" digest "diff a.h5:large"; do
        status 3 tra $command a.h5:large
        has "a.h5:large: element [1,0] is 9223372036854775808, more than i64 holds"
    done
    status 0 tra verify a.h5:large # it is not damaged
}

@test "info of a scalar and of an empty tensor" {
    tra gen -q --shape '' -o a.h5:s
    tra gen -q --shape 0x5 -o a.h5:e
    status 0 tra info --format json a.h5:s a.h5:e
    is "[]" json relations.0.shape
    is 1 json relations.0.tuples
    is "[0, 5]" json relations.1.shape
    is 0 json relations.1.tuples
    status 0 tra info a.h5:s
    has scalar
}

@test "info tells who can read a compressed file" {
    tra gen -q --shape 100x100 --dist range --codec zstd -o a.h5
    status 0 tra info a.h5
    has "zstd filter 32015"
    tra gen -q --shape 100x100 -o b.h5
    status 0 tra info b.h5
    has "any HDF5 program"
}

@test "info: what is wrong is named, with status 3" {
    status 3 tra info missing.h5
    has "missing.h5"
    has "No such file"
    echo junk >junk.h5
    status 3 tra info junk.h5
    has "junk.h5"
    tra gen -q --shape 3 -o a.h5
    status 3 tra info a.h5:other
    has "other"
    status 2 tra info
    has "usage: tra info"
}

@test "info of 100000 chunks takes less than 0.1 s of the processor" {
    [ -z "${SAN-}" ] || skip "a sanitizer takes its time"
    tra gen -q --shape 400x1000 --block 2x2 -o a.h5
    TIMEFORMAT='%U %S'
    best=99999
    for _ in 1 2 3 4 5; do # not the time on the clock: other programs may be running
        took=$({ time tra info a.h5 >out; } 2>&1 | awk '{ print int(1000 * ($1 + $2)) }')
        if ((took < best)); then best=$took; fi
    done
    grep -q "100000 tuples" out
    echo "best of 5: $best ms"
    ((best < 100))
}

@test "--memory bounds what --stats uses, and is refused when too little" {
    tra gen -q --shape 512x512 --block 512x512 -o a.h5
    status 4 tra info --stats --memory 25M a.h5
    has "at least 26"
    status 0 tra info --stats --memory 27M a.h5
    status 2 tra info --memory lots a.h5
    has "'lots' is not a size"
    TRA_MEMORY=25M status 4 tra info --stats a.h5
    TRA_MEMORY=25M status 0 tra info --stats --memory 27M a.h5
}
