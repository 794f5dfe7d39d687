/* dates.c - parts of dates and times. */
#include "table_int.h"

int64_t tra_date_part(tra_colop op, int64_t days, int64_t of_day) {
    int64_t year;
    int month, day;
    if (op == TRA_C_HOUR) return of_day / 3600000000;
    if (op == TRA_C_MINUTE) return of_day / 60000000 % 60;
    if (op == TRA_C_WEEKDAY) return days + 3 - 7 * tra_floor_div(days + 3, 7); /* 1970 began on a Thursday */
    tra_civil_of(days, &year, &month, &day);
    return op == TRA_C_YEAR ? year : op == TRA_C_MONTH ? month : day;
}
