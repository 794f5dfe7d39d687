/* meter.c - a bar that is drawn over itself, or plain lines now and then. */
#include "meter.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR = 24 };

tra_progress_form tra_progress_wanted(int option, bool quiet, bool terminal) {
    if (option == TRA_PROGRESS_EVENTS) return TRA_PROGRESS_JSON;
    if (quiet || option == TRA_PROGRESS_NEVER) return TRA_PROGRESS_NONE;
    if (terminal) return TRA_PROGRESS_BAR;
    return option == TRA_PROGRESS_ALWAYS ? TRA_PROGRESS_LINES : TRA_PROGRESS_NONE;
}

/* Would writing to standard error wait, because nobody reads what was written before? */
static bool is_blocked(void) {
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&fd, 1, 0) == 0;
}

static const char *duration(double s, char *buf, size_t n) {
    if (s < 120)
        snprintf(buf, n, "%.0f s", s);
    else if (s < 7200)
        snprintf(buf, n, "%.0f min", s / 60);
    else
        snprintf(buf, n, "%.1f h", s / 3600);
    return buf;
}

double tra_progress_draw(tra_progress_form form, const char *what, double share, double spent) {
    double due = tra_now() + (form == TRA_PROGRESS_BAR ? 0.25 : 10);
    char took[32], left[64] = "", bar[BAR + 1], text[32];
    if (form == TRA_PROGRESS_NONE || is_blocked()) return due;
    if (form == TRA_PROGRESS_JSON) {
        tra_json j = {0};
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "event", "progress");
        tra_json_num(&j, "share", share);
        tra_json_num(&j, "seconds", spent);
        if (share > 0.02 && spent > 1) tra_json_num(&j, "left_seconds", spent * (1 - share) / share);
        tra_json_str(&j, "what", what);
        tra_json_end(&j, '}');
        fprintf(stderr, "%s\n", tra_str_get(&j.out));
        tra_json_free(&j);
        return tra_now() + 1;
    }
    if (share > 0.02 && spent > 1)
        snprintf(left, sizeof left, ", about %s left", duration(spent * (1 - share) / share, text, sizeof text));
    for (int i = 0; i < BAR; i++) bar[i] = i < (int)(share * BAR) ? '#' : '.';
    bar[BAR] = 0;
    duration(spent, took, sizeof took);
    if (form == TRA_PROGRESS_BAR)
        fprintf(stderr, "\r\033[K[%s] %3.0f %%  %.40s, %s%s", bar, 100 * share, what, took, left);
    else
        fprintf(stderr, "tra: %.0f %%, %s, %s%s\n", 100 * share, what, took, left);
    fflush(stderr);
    return due;
}

void tra_progress_erase(tra_progress_form form) {
    if (form == TRA_PROGRESS_BAR && !is_blocked()) fprintf(stderr, "\r\033[K");
}

static struct {
    tra_progress_form form;
    const char *what;
    int64_t all;
    _Atomic int64_t done;
    double begun, due; /* due: under the lock */
    pthread_mutex_t lock;
} meter = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tra_meter_begin(tra_progress_form form, const char *what, int64_t all) {
    meter.what = what;
    meter.all = tra_max64(1, all);
    meter.begun = tra_now();
    meter.due = meter.begun + (form == TRA_PROGRESS_BAR ? 0.25 : 0); /* a line at once tells that there will be more */
    atomic_store(&meter.done, 0);
    meter.form = form;
}

void tra_meter_add(int64_t parts) {
    if (meter.form == TRA_PROGRESS_NONE) return;
    int64_t done = atomic_fetch_add(&meter.done, parts) + parts;
    if (pthread_mutex_trylock(&meter.lock) != 0) return; /* another thread draws */
    double now = tra_now();
    if (now >= meter.due)
        meter.due = tra_progress_draw(meter.form, meter.what, (double)tra_min64(done, meter.all) / (double)meter.all,
                                      now - meter.begun);
    pthread_mutex_unlock(&meter.lock);
}

void tra_meter_end(void) {
    tra_progress_erase(meter.form);
    meter.form = TRA_PROGRESS_NONE;
}
