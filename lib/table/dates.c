/* dates.c - parts of dates and times. */
#include "table_int.h"

int64_t tra_iso_week(int64_t days, int64_t *year) {
    int64_t thursday = days - tra_date_part(TRA_C_WEEKDAY, days, 0) + 3;
    int month, day;
    tra_civil_of(thursday, year, &month, &day);
    return (tra_date_part(TRA_C_YEARDAY, thursday, 0) - 1) / 7 + 1;
}

int64_t tra_date_part(tra_colop op, int64_t days, int64_t of_day) {
    int64_t year;
    int month, day;
    if (op == TRA_C_HOUR) return of_day / 3600000000;
    if (op == TRA_C_MINUTE) return of_day / 60000000 % 60;
    if (op == TRA_C_SECOND) return of_day / 1000000 % 60;
    if (op == TRA_C_WEEKDAY) return days + 3 - 7 * tra_floor_div(days + 3, 7); /* 1970 began on a Thursday */
    if (op == TRA_C_WEEK) return tra_iso_week(days, &year);
    if (op == TRA_C_ISOYEAR) return (void)tra_iso_week(days, &year), year;
    tra_civil_of(days, &year, &month, &day);
    if (op == TRA_C_QUARTER) return (month - 1) / 3 + 1;
    if (op == TRA_C_YEARDAY) {
        static const int16_t before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
        return before[month - 1] + (month > 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) + day;
    }
    return op == TRA_C_YEAR ? year : op == TRA_C_MONTH ? month : day;
}
