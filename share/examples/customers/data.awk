# Customers, and what they bought: awk -v customers=N -v sales=FILE -f data.awk >customers.csv
# There are three kinds of customers; those that buy little, and pay by the month, leave more often.
function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
BEGIN {
    seed = 31415926
    split("north south west", region, " ")
    split("books music garden", goods, " ")
    print "id,region,age,monthly,left"
    print "customer,day,kind,price" >sales
    for (i = 0; i < customers; i++) {
        k = int(3 * random())
        age = 20 + 15 * k + int(12 * random())
        monthly = random() < .5
        n = 1 + 6 * (2 - k) + int(5 * random())
        gone = random() < 1 / (1 + exp(-(-1 + 1.5 * monthly - 0.2 * (n - 8) + 0.02 * (age - 40))))
        printf "%d,%s,%d,%s,%s\n", 1000 + i, region[1 + int(3 * random())], age, monthly ? "true" : "false", gone ? "true" : "false"
        for (j = 0; j < n; j++)
            printf "%d,2025-%02d-%02d,%s,%.2f\n", 1000 + i, 1 + int(12 * random()), 1 + int(28 * random()), \
                goods[1 + int(3 * random())], (4 + 8 * k) * (.5 + random()) >sales
    }
}
