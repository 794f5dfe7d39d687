# How often authors published at conferences, a line for each pair that did, and the conferences' ranks:
#   awk -v authors=N -v conferences=M -v ranking=FILE -f data.awk >papers.csv
# Authors are of a field, and go to the conferences of that field more often.
function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
BEGIN {
    seed = 19930101
    split("A++ A* A B C", name, " ")
    print "conf,rank" >ranking
    for (c = 0; c < conferences; c++) {
        u = random()
        printf "c%03d,%s\n", c, name[u < .07 ? 1 : u < .2 ? 2 : u < .4 ? 3 : u < .7 ? 4 : 5] >ranking
    }
    print "author,conf,papers"
    for (i = 0; i < authors; i++) {
        field = int(10 * random())
        n = 1 + int(8 * random() * random())
        split("", seen)
        while (n-- > 0) {
            c = int(conferences * random() * random())
            if (random() < .6) c = c - c % 10 + field
            if (c >= conferences || c in seen) continue
            seen[c] = 1
            printf "a%06d,c%03d,%d\n", i, c, 1 + int(5 * random())
        }
    }
}
