"""netCDF-4 files as python3-netcdf4 writes them, and their variables as xarray decodes them.

netcdf.py write FILE             writes variables packed, unsigned, with fill values, ranges, times, groups
netcdf.py compare FILE TRA       exports each variable by tra, and compares with xarray and, for ranges, with netCDF4
"""
import subprocess
import sys
import warnings

import netCDF4
import numpy as np
import xarray

warnings.simplefilter("ignore")


def variables():
    """name: (type of the file, values as they are stored, attributes, fill value)"""
    v = {}
    ints = {"i1": np.array([-128, -100, 0, 5, 99, 127]), "i2": np.array([-32768, -999, 0, 5, 999, 32767]),
            "i4": np.array([-2**31, -999, 0, 5, 10**6, 2**31 - 1]), "i8": np.array([-2**53, -999, 0, 5, 10**9, 2**53]),
            "u1": np.array([0, 5, 99, 127, 128, 255]), "u2": np.array([0, 5, 999, 32767, 32768, 65535]),
            "u4": np.array([0, 5, 999, 10**6, 2**31, 2**32 - 1]), "u8": np.array([0, 5, 999, 10**6, 2**31, 2**40])}
    for t, x in ints.items():
        v["plain_" + t] = (t, x, {}, None)
        v["packed_" + t] = (t, x, {"scale_factor": 0.1, "add_offset": 273.15}, None)
        v["fill_" + t] = (t, x, {}, x[1])
        v["packed_fill_" + t] = (t, x, {"scale_factor": np.float32(0.5), "add_offset": np.float32(3)}, x[1])
        v["missing_" + t] = (t, x, {"missing_value": np.array(x[2], t)}, None)
        v["range_" + t] = (t, x, {"valid_range": np.array([x[1], x[4]], t)}, None)
    for t in ("i1", "i2", "i4"):
        v["unsigned_" + t] = (t, ints[t], {"_Unsigned": "true"}, None)
        v["unsigned_fill_" + t] = (t, ints[t], {"_Unsigned": "true", "scale_factor": 0.01}, ints[t][0])
    for t in ("f4", "f8"):
        x = np.array([1.5, -999, 1e20, 0.1, 9.969209968386869e36, np.inf])
        v["fill_" + t] = (t, x, {}, 9.969209968386869e36)
        v["missing_" + t] = (t, x, {"missing_value": 1e20}, None)
        v["both_" + t] = (t, x, {"missing_value": np.array([-999.0, 1e20])}, 0.1)
        v["scaled_" + t] = (t, x[:4], {"scale_factor": 2.0}, None)
        v["range_" + t] = (t, x, {"valid_min": np.array(-10, t), "valid_max": np.array(1e10, t)}, None)
    v["offset_only"] = ("i2", ints["i2"], {"add_offset": 100.0}, None)
    v["whole_scale"] = ("i2", ints["i2"], {"scale_factor": np.int16(10)}, None)
    v["least_only"] = ("i2", ints["i2"], {"valid_min": np.int16(0), "scale_factor": 0.5}, None)
    v["nan_fill"] = ("f4", np.array([1, 2, 3, 4, 5, 6.0]), {}, np.nan)
    v["flag"] = ("i1", np.array([0, 1, 1, 0, 1, 0]), {"dtype": "bool"}, None)
    return v


def write(path):
    with netCDF4.Dataset(path, "w") as f:
        f.set_auto_maskandscale(False)
        f.createDimension("time", None)
        f.createDimension("x", 6)
        f.createDimension("y", 4)
        for name, (t, x, attributes, fill) in variables().items():
            d = f.createVariable(name, t, ("x" if len(x) == 6 else "y",), fill_value=fill)
            d.set_auto_maskandscale(False)
            d.setncatts(attributes)
            with np.errstate(all="ignore"):
                d[:] = x.astype(t)
        d = f.createVariable("scalar", "i2", (), fill_value=-1)
        d.scale_factor = 0.5
        d.set_auto_maskandscale(False)
        d[...] = 7
        rng = np.random.default_rng(1)
        for name, options in (("chunked", {"chunksizes": (3, 6)}), ("zipped", {"zlib": True, "chunksizes": (4, 3)}),
                              ("unlimited", {}), ("checked", {"fletcher32": True})):
            d = f.createVariable(name, "i2", ("time", "x"), fill_value=-9, **options)
            d.scale_factor, d.add_offset = 0.25, 10.0
            d.set_auto_maskandscale(False)
            d[:10] = rng.integers(-9, 50, (10, 6))
        g = f.createGroup("forecast/day")
        g.createDimension("z", 3)
        d = g.createVariable("t2m", ">i2", ("z",), fill_value=-1, endian="big")
        d.scale_factor = 0.1
        d.set_auto_maskandscale(False)
        d[:] = [1, -1, 300]


def expected(path, name):
    group, _, last = name.rpartition("/")
    with xarray.open_dataset(path, engine="netcdf4", group=group or None, decode_times=False) as f:
        x = f[last]
        attributes = dict(x.encoding, **x.attrs)
        out = x.values
    if any(k.startswith("valid_") for k in attributes):
        with netCDF4.Dataset(path) as f:
            d = f[name]
            stored = np.ma.asarray(d[...])
            out = np.where(np.ma.getmaskarray(stored), np.nan, np.ma.getdata(stored).astype(float))
    return out


def compare(path, tra):
    names = list(variables()) + ["scalar", "chunked", "zipped", "unlimited", "checked", "forecast/day/t2m"]
    bad = 0
    for name in names:
        done = subprocess.run([tra, "export", "-q", path + ":" + name, "-o", "out.npy"], capture_output=True, text=True)
        if done.returncode:
            print(name, done.stderr)
            bad += 1
            continue
        got, want = np.load("out.npy"), expected(path, name)
        f32 = got.dtype == np.float32 or want.dtype == np.float32
        ok = got.shape == want.shape and np.allclose(got, want, rtol=3e-7 if f32 else 1e-14, atol=0, equal_nan=True)
        ok = ok and (got.dtype.kind == "f") == (want.dtype.kind == "f")
        if not ok:
            print(name, "got", got.dtype, got, "expected", want.dtype, want)
            bad += 1
    print(len(names), "variables,", bad, "wrong")
    sys.exit(bad > 0)


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    compare(sys.argv[2], sys.argv[3])
