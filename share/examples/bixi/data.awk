# Stations and trips between them, by a generator of its own so that every awk makes the same ones:
#   awk -v rows=N -v stations=FILE -f data.awk >trips.csv
# A trip takes 2 minutes, 4 for each km, and up to 4 more; stations differ in how many begin or end there.
function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
BEGIN {
    seed = 20170415
    n = 600
    print "code,name,lat,lon" >stations
    for (i = 0; i < n; i++) {
        lat[i] = 45.40 + 0.25 * random()
        lon[i] = -73.75 + 0.30 * random()
        printf "%d,Station %d,%.6f,%.6f\n", 5000 + 7 * i, i, lat[i], lon[i] >stations
    }
    print "start,end,duration"
    for (i = 0; i < rows; i++) {
        a = int(n * random() * random())
        b = random() < 0.04 ? a : int(n * random() * random())
        y = (lat[a] - lat[b]) * 111.2
        x = (lon[a] - lon[b]) * 78.0
        printf "%d,%d,%d\n", 5000 + 7 * a, 5000 + 7 * b, 120 + 240 * sqrt(x * x + y * y) + 240 * random()
    }
}
