/* stop.c - signals, and a time, that ask a run to save its progress and end. */
#include "base.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t asked; /* by this signal, or by the time (LATE) */
enum { LATE = -1 };

static void on_signal(int sig) {
    if (asked && sig == SIGINT) { /* who asks twice at the terminal does not want to wait */
        tra_cleanup_all();
        signal(sig, SIG_DFL);
        raise(sig);
    }
    asked = sig;
}

void tra_stop_catch(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
        sigemptyset(&a.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && (old.sa_handler != SIG_IGN || signals[i] != SIGHUP))
            sigaction(signals[i], &a, NULL);
    }
}

static pid_t needed; /* by tra_stop_when_gone; 0: none */

void tra_stop_when_gone(long pid) { needed = (pid_t)pid; }

static _Atomic double last = INFINITY; /* tra_stop_at */

void tra_stop_at(double when) { last = when; }

bool tra_stop_asked(void) {
    if (!asked && tra_now() >= last) asked = LATE;
    if (!asked && needed > 0 && kill(needed, 0) != 0 && errno == ESRCH) asked = SIGTERM;
    return asked != 0;
}

tra_status tra_stop_check(tra_err *e) {
    if (!tra_stop_asked()) return TRA_OK;
    return tra_fail(e, TRA_STOPPED, asked == LATE ? "stopped before the --deadline" : "stopped by a signal");
}
