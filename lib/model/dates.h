/* dates.h - dates and timestamps as text, and as days and microseconds since 1970: the civil calendar, proleptic
 * Gregorian.
 */
#ifndef TRA_DATES_H
#define TRA_DATES_H

#include "../base/base.h"

/* "2017-04-15" and "2017-04-15 08:15:00.25" (or with T, with Z) as days and microseconds; false if it is none. Years 1
 * to 9999. */
bool tra_parse_date(const char *s, int64_t len, int32_t *days);
bool tra_parse_timestamp(const char *s, int64_t len, int64_t *micros);
enum { TRA_DATETEXT = 40 };
char *tra_date_text(int32_t days, char buf[TRA_DATETEXT]);        /* "2017-04-15"; return buf */
char *tra_timestamp_text(int64_t micros, char buf[TRA_DATETEXT]); /* "2017-04-15 08:15:00", with .250000 as needed */
/* Days since 1970-01-01 of a day in the calendar, false unless it is one; and back. */
bool tra_days_of(int64_t year, int64_t month, int64_t day, int32_t *days);
void tra_civil_of(int64_t days, int64_t *year, int *month, int *day);
/* Year, month, day, hour, minute, second as microseconds; false unless there is such a moment. */
bool tra_micros_of(const int64_t part[6], int64_t *micros);

#endif
