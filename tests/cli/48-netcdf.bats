# netCDF-4 variables and other HDF5 datasets with the attributes of the CF conventions: decoded as xarray does it.
load helper

# netcdf CODE: python with netCDF4 on f, the new file x.nc; skips the test where there is none
netcdf() {
    "$PYTHON" -c 'import netCDF4, xarray' 2>/dev/null || skip "there is no netCDF4 and xarray for python"
    "$PYTHON" -c "
import netCDF4, numpy as np
with netCDF4.Dataset('x.nc', 'w') as f:
    f.set_auto_maskandscale(False)
$(sed 's/^/    /' <<<"$1")"
}

# variable SPEC ATTRIBUTES: x.nc has a dataset v of the type and values SPEC
variable() {
    "$PYTHON" -c "
import h5py, numpy as np
with h5py.File('x.nc', 'w') as f:
    f['v'] = $1
    for k, x in dict($2).items(): f['v'].attrs[k] = x"
}

csv() { "$TRA" export -q "$1" -o - --to csv | tr '\n' ' '; }

@test "75 variables packed, unsigned, with fill values and ranges, chunked, zipped and in groups are as xarray has them" {
    netcdf ''
    "$PYTHON" "$BATS_TEST_DIRNAME/netcdf.py" write x.nc
    status 0 "$PYTHON" "$BATS_TEST_DIRNAME/netcdf.py" compare x.nc "$TRA"
}

@test "packed variables run on any number of sites, in little memory, by rows and by parts" {
    "$PYTHON" -c '
import h5py, numpy as np
x = np.random.default_rng(3).integers(-100, 30000, (3000, 700)).astype("i2")
x[x % 17 == 0] = -1
with h5py.File("p.nc", "w") as f:
    for name, options in ("plain", {}), ("chunked", {"chunks": (500, 300)}), ("zipped", {"chunks": (500, 300), "compression": 1, "shuffle": True}):
        d = f.create_dataset(name, data=x, **options)
        d.attrs["_FillValue"], d.attrs["scale_factor"], d.attrs["add_offset"] = np.int16(-1), 0.01, 250.0
v = np.where(x == -1, np.nan, x * 0.01 + 250)
np.save("sum.npy", np.where(np.isnan(v), 0, v).sum(0)); np.save("part.npy", v[1000:1100, 20:40])'
    for name in plain chunked zipped; do
        printf '%s\n' "input T from \"p.nc:$name\"" 's[j] = sum (if(T[i,j] == T[i,j], T[i,j], 0))' \
            'p = slice(T, [1000:1100, 20:40])' 'output s' 'output p' >p.tra
        for sites in 1 2 3 5; do
            status 0 tra run -q --sites $sites --memory 64M p.tra
            status 0 "$PYTHON" -c '
import h5py, numpy as np
assert np.allclose(h5py.File("s.h5")["data"], np.load("sum.npy"), rtol=1e-12)
assert np.array_equal(h5py.File("p.h5")["data"], np.load("part.npy"), equal_nan=True)'
        done
    done
    status 0 tra run -q --engine reference p.tra
}

@test "attributes that contradict each other, or the type, are an error that names them; raw: reads what is stored" {
    while IFS='|' read -r values attributes says; do
        variable "$values" "$attributes"
        for command in "import -q x.nc -o y.h5" "info x.nc" "digest x.nc"; do
            run tra $command
            [ "$status" = 3 ] || { echo "$attributes: $output"; return 1; }
            [[ $output == *"$says"* && $output == *"raw:x.nc:v"* ]] || { echo "$attributes: $output"; return 1; }
        done
        printf 'input A from "raw:x.nc:v"\nB[i] = A[i] + 0\noutput B\n' >p.tra
        status 0 tra run -q p.tra
    done <<'END'
np.arange(3, dtype="i2")|valid_range=np.array([0, 9], "i2"), valid_min=np.int16(1)|valid_range, and valid_min
np.arange(3, dtype="i2")|valid_min=np.int16(5), valid_max=np.int16(1)|valid_min and valid_max leave no value
np.arange(3, dtype="i2")|valid_range=np.array([0, 9, 3], "i2")|valid_range has 3 values
np.arange(3, dtype="i2")|valid_min=0.5, scale_factor=0.1|valid_min is 0.5, and its elements are stored as integers
np.arange(3, dtype="i2")|scale_factor=np.array([1.0, 2.0])|scale_factor has 2 values
np.arange(3, dtype="i2")|scale_factor=0.0|scale_factor is 0
np.arange(3, dtype="i2")|add_offset=np.nan|add_offset is nan
np.arange(3, dtype="i2")|scale_factor="0.1"|scale_factor is not a number
np.arange(3, dtype="i2")|missing_value="-99"|missing_value is not a number
np.arange(3, dtype="f4")|_Unsigned="true"|_Unsigned is "true", but its elements are no integers
np.arange(3, dtype="i2")|_Unsigned="maybe"|_Unsigned is "maybe"
END
}

@test "whole numbers that the decoded type would round are an error that names the element" {
    variable 'np.array([1, 2**53 + 1, -1])' '_FillValue=np.int64(-1)'
    status 3 tra export -q x.nc -o - --to csv
    [[ $output == *"x.nc:v: element [1] is 9007199254740993, which f64 does not hold"* ]]
    variable 'np.array([1, -2, -1])' '_Unsigned="true"'
    status 3 tra export -q x.nc -o - --to csv
    [[ $output == *"element [1] is 18446744073709551614, which i64 does not hold"* ]]
    variable 'np.array([1, 2, 0], "i1")' 'dtype="bool"'
    status 3 tra export -q x.nc -o - --to csv
    [[ $output == *"element [1] of booleans is neither 0 nor 1 but 2"* ]]
    variable 'np.array([1, 2**53 + 1, 3])' 'units="K"'
    [ "$(csv x.nc)" = "1 9007199254740993 3 " ]
}

@test "info says what is applied, and raw: reads the numbers as they are stored" {
    variable 'np.array([-1, 5, 100], "i2")' '_FillValue=np.int16(-1), valid_max=np.int16(50), scale_factor=0.5, add_offset=np.float32(2)'
    run tra info x.nc
    [[ $output == *"decoded     -1 (_FillValue) is NaN; above 50 (valid_max) is NaN; times 0.5 (scale_factor); plus 2 (add_offset)"* ]]
    [ "$(csv x.nc)" = "nan 4.5 nan " ]
    [ "$(csv raw:x.nc)" = "-1 5 100 " ]
    [ "$(csv raw:x.nc:v)" = "-1 5 100 " ]
    mkdir d
    mv x.nc d
    printf 'input A from "raw:x.nc:v"\nB[i] = A[i] * 2\noutput B\n' >d/p.tra
    status 0 tra run -q d/p.tra
    [ "$(csv d/B.h5)" = "-2 10 200 " ]
    "$TRA" info --format json d/x.nc | "$PYTHON" -c 'import json, sys; assert "0.5 (scale_factor)" in json.load(sys.stdin)["relations"][0]["decoding"]'
}

# Each time axis: units, calendar ('' for none), values, and the labels that xarray has, or - where they stay numbers.
@test "times of the standard and Gregorian calendars are labels that are timestamps; of others they stay numbers, said" {
    "$PYTHON" -c 'import xarray, cftime' 2>/dev/null || skip "there is no xarray for python"
    while IFS='|' read -r units calendar values kind; do
        "$PYTHON" - "$units" "$calendar" "$values" "$kind" <<'END' || return 1
import h5py, numpy as np, os, subprocess, sys, warnings, xarray
warnings.simplefilter("ignore")
units, calendar, values, kind = sys.argv[1:]
values = eval(values)
with h5py.File("x.nc", "w") as f:
    f["time"] = values
    f["time"].attrs["units"] = units
    if calendar: f["time"].attrs["calendar"] = calendar
    f["time"].make_scale("time")
    f["v"] = np.arange(float(len(values)))
    f["v"].dims[0].attach_scale(f["time"])
open("p.tra", "w").write('input v from "x.nc:v"\nE = entries(v)\noutput E')
done = subprocess.run([os.environ["TRA"], "run", "p.tra"], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
got = subprocess.run([os.environ["TRA"], "export", "-q", "E.h5", "--to", "csv", "-o", "-"], capture_output=True, text=True).stdout.split("\n")[1:-1]
got = [x.split(",")[0] for x in got]
said = [x for x in done.stderr.split("\n") if "stay the numbers" in x]
if kind == "number":
    assert [float(x) for x in got] == [float(x) for x in values] and said, (got, done.stderr)
else:
    t = xarray.open_dataset("x.nc", engine="netcdf4")["time"].values
    want = [str(x.astype("M8[us]")).replace("T", " ") if isinstance(x, np.datetime64) else x.strftime("%Y-%m-%d %H:%M:%S") for x in t]
    want = [x[:-7] if x.endswith(".000000") else x for x in want]
    assert got == want and not said, (units, calendar, got, want, done.stderr)
END
    done <<'END'
days since 1970-01-01|standard|np.array([0, 789, -3])|time
days since 1970-01-01||np.array([0, 789], "i4")|time
hours since 1900-01-01 00:00:00.0|gregorian|np.array([1051896, 1051897.5])|time
seconds since 1970-01-01T00:00:00Z|proleptic_gregorian|np.array([0, 1600000000])|time
minutes since 2000-02-28 12:30|standard|np.array([0., 1440., 2880.5])|time
milliseconds since 2001-01-01|standard|np.array([1, 86400000])|time
microseconds since 1970-01-01|standard|np.array([1, 1500000])|time
days since 2000-1-1|standard|np.array([59, 60], "i2")|time
days since 1850-01-01 00:00 UTC|standard|np.array([0.25, 60000], "f4")|time
hours since 2020-06-01 06:00:00 +02:00|standard|np.array([0, 1])|time
days since 0001-01-01|standard|np.array([735000, 737000])|time
days since 0001-01-01|proleptic_gregorian|np.array([735000, 737000])|time
hours since 1-1-1 00:00:0.0|gregorian|np.array([17600000])|time
days since 1970-01-01|noleap|np.array([0, 789])|number
days since 1970-01-01|365_day|np.array([0, 1])|number
days since 1970-01-01|360_day|np.array([0, 31])|number
days since 1970-01-01|julian|np.array([0, 31])|number
days since 1970-01-01|all_leap|np.array([0.5, 31])|number
days since 1970-01-01|366_day|np.array([0, 31])|number
days since 1500-01-01|standard|np.array([0, 31])|number
months since 1970-01-01|standard|np.array([0, 31])|number
days since the flood|standard|np.array([0, 31])|number
days since 1970-01-01|standard|np.array([0, np.nan])[:1]|time
days since 1970-01-01|standard|np.array([0, 10**15])|number
END
}

@test "results open in xarray with the dimensions, units and times of the file that they come from" {
    "$PYTHON" -c 'import xarray, netCDF4' 2>/dev/null || skip "there is no xarray for python"
    "$PYTHON" -W ignore -c '
import numpy as np, pandas as pd, xarray as xr
T = np.arange(24.0).reshape(4, 2, 3)
xr.Dataset({"t2m": (("time", "lat", "lon"), T, {"units": "K"})}, coords={
    "time": pd.date_range("2020-01-31 06:00", periods=4, freq="6H"), "lat": ("lat", np.array([10.5, -3.1], "f4"), {"units": "degrees_north"}),
    "lon": ("lon", [0.1, 0.2, 0.30000000000000004])}).to_netcdf("x.nc", encoding={
    "t2m": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}, "time": {"units": "hours since 1900-01-01", "dtype": "f8"}})'
    printf '%s\n' 'input A from "x.nc:t2m"' 'm[t,y] = sum A[t,y,x]' 'n[y,x] = sum A[t,y,x]' 'E = entries(m)' 'p = slice(A, [1:3, :, :])' \
        'output m' 'output n to "both.h5:n"' 'output m to "both.h5:m"' 'output E' 'output p' >p.tra
    for sites in 1 2 3; do
        status 0 tra run -q --sites $sites p.tra
        status 0 "$PYTHON" -W ignore -c '
import numpy as np, xarray as xr
x = xr.open_dataset("x.nc", engine="netcdf4")["t2m"]
m = xr.open_dataset("m.h5", engine="netcdf4")["data"]
assert m.dims == ("time", "lat") and np.allclose(m, x.sum("lon")) and (m.time.values == x.time.values).all()
assert m.lat.values.tolist() == x.lat.values.tolist() and m.lat.dtype == np.float32 and m.lat.attrs["units"] == "degrees_north"
both = xr.open_dataset("both.h5", engine="netcdf4")
assert both["n"].dims == ("lat", "lon") and both["m"].dims == ("time", "lat"), both
assert both["m"].lat.values.tolist() == x.lat.values.tolist() == both["n"].lat.values.tolist()
p = xr.open_dataset("p.h5", engine="netcdf4")["data"]
assert np.allclose(p, x[1:3]) and (p.time.values == x.time.values[1:3]).all() and p.lon.values.tolist() == x.lon.values.tolist()'
    done
    is "$(printf '%s\n' time,lat,value | sed s/time,lat/t,y/; printf '2020-01-31 06:00:00,10.5,3')" eval 'tra export -q E.h5 -o - --to csv | head -n 2'
    for file in m.h5 both.h5:n both.h5:m p.h5; do status 0 tra verify -q $file; done
    status 0 tra import -q m.h5 -o again.h5
    run tra info again.h5
    [[ $output == *"dimension 0, time: 2020-01-31 06:00:00"*"dimension 1, lat: 10.5, -3.1 in degrees_north"* ]]
    printf '%s\n' 'input m from "m.h5"' 'k[a,b] = m[a,b] * 2' 'output k' >q.tra
    status 0 tra run -q q.tra
    status 0 "$PYTHON" -W ignore -c 'import xarray; assert xarray.open_dataset("k.h5", engine="netcdf4")["data"].dims == ("time", "lat")'
    cp both.h5 before.h5
    printf '%s\n' 'input A from "x.nc:t2m"' 'n[y,x] = mean A[t,y,x]' 'output n to "both.h5:n"' >q.tra
    status 0 tra run -q q.tra # the labels of m are those of n still
    for r in n m; do status 0 tra verify -q both.h5:$r; done
    status 0 "$PYTHON" -W ignore -c '
import xarray
both = xarray.open_dataset("both.h5", engine="netcdf4")
assert both["n"].dims == ("lat", "lon") and both["m"].dims == ("time", "lat") and both["m"].lat.values.tolist() == both["n"].lat.values.tolist()'
    printf '%s\n' 'input A from "x.nc:t2m"' 'n[y,x] = sum A[t,y,x]' 'm = slice(n, [0:1, :])' 'output m to "both.h5:n"' >q.tra
    status 0 tra run -q q.tra # other labels than those of m
    for r in n m; do status 0 tra verify -q both.h5:$r; done
    status 0 "$PYTHON" -W ignore -c '
import xarray
both = xarray.open_dataset("both.h5", engine="netcdf4")
assert both["m"].dims == ("time", "lat") and both["m"].shape == (4, 2) and both["n"].shape == (1, 3)'
    status 0 tra run -q p.tra
    same_digest before.h5:n both.h5:n
    for r in n m; do status 0 tra verify -q both.h5:$r; done
}

@test "units of the elements pass through what keeps them, and stand in what is written" {
    py '
with h5py.File("t.nc", "w") as f:
    x = f.create_dataset("lat", data=[10., 20., 30.]); x.make_scale("lat"); x.attrs["units"] = "degrees_north"
    for n, u in (("T", "K"), ("P", "Pa"), ("when", "days since 2000-01-01")):
        v = f.create_dataset(n, data=np.arange(12.).reshape(4, 3)); v.attrs["units"] = u; v.dims[1].attach_scale(x)
'
    units() { # EXPRESSION WANT
        tra eval -q "$1" T=t.nc:T P=t.nc:P when=t.nc:when -o o.nc 2>/dev/null || tra eval -q "$1" T=t.nc:T -o o.nc
        got=$(py 'u = h5py.File("o.nc")["data"].attrs.get("units", b"-"); print(u.decode() if isinstance(u, bytes) else u)')
        [ "$got" = "$2" ] || { echo "$1: $got"; return 1; }
    }
    units 'm[y] = mean T[t,y]' K
    units 'A[t,y] = T[t,y] - mean[u](T[u,y])' K
    units 'transpose(slice(T, [::2, 1:3]))' K
    units 'if(isnan(T), 0, T)' K
    units 'max(T) - T' K
    units 'T * 2' -
    units 'T - 273.15' -
    units 'T / 100' -
    units 'T * T' -
    units 'T > 3' -
    tra eval 'T + P' T=t.nc:T P=t.nc:P -o o.nc
    status 0 tra info o.nc
    lacks 'units  '
    tra eval 'when + when' when=t.nc:when -o o.nc
    status 0 tra info o.nc
    lacks 'units  '
    tra eval --sites 2 'T' T=t.nc:T -o o.nc
    status 0 tra info o.nc
    has 'units       K'
    status 0 tra verify o.nc
    tra eval 'o + o' o.nc -o o2.h5
    status 0 tra info o2.h5
    has 'units       K'
}
