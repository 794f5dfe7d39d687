/* meter.h - how far a command is, on standard error. */
#ifndef TRA_METER_H
#define TRA_METER_H

#include "base.h"

typedef enum tra_progress_form {
    TRA_PROGRESS_NONE,
    TRA_PROGRESS_BAR,
    TRA_PROGRESS_LINES,
    TRA_PROGRESS_JSON
} tra_progress_form;

/* The form that --progress auto|always|never|json asks for: a bar on a terminal (auto, always), lines elsewhere
 * (always), objects of JSON (json). */
enum { TRA_PROGRESS_AUTO, TRA_PROGRESS_ALWAYS, TRA_PROGRESS_NEVER, TRA_PROGRESS_EVENTS };
tra_progress_form tra_progress_wanted(int option, bool quiet, bool terminal);

/* Draws once: the share of the work that is done, and the seconds since it began. Writes nothing while nobody reads
 * what was written before. Returns when, by tra_now, the next drawing is due: bars four times a second, lines every
 * ten seconds. */
double tra_progress_draw(tra_progress_form form, const char *what, double share, double spent);
void tra_progress_erase(tra_progress_form form);

/* A meter for a command that does one thing after the other: the thing `what` has `all` parts, and tra_meter_add, from
 * any thread, says that so many more are done. Nothing is drawn between an end and the next begin. `what` must live
 * until the end. */
void tra_meter_begin(tra_progress_form form, const char *what, int64_t all);
void tra_meter_add(int64_t parts);
void tra_meter_end(void);

#endif
