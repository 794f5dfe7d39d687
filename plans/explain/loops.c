/* loops.c - the loops of a plan: what they cost once and in each turn. */
#include "../search/cost.h"
#include "explain_int.h"

#include <string.h>

/* The figures of a set of operators, each as often as it runs in one turn of a loop, or outside of loops. */
typedef struct figures {
    double network_floats, flops, seconds;
    tra_size network, read, written;
} figures;

static void add(figures *f, const tra_cost *c, double times) {
    int64_t n = (int64_t)times;
    f->network_floats += times * c->network_floats;
    f->flops += times * c->flops;
    f->seconds += times * c->seconds;
    f->network = tra_size_add(f->network, tra_size_times(c->network_bytes, n));
    f->read = tra_size_add(f->read, tra_size_times(c->disk_read, n));
    f->written = tra_size_add(f->written, tra_size_times(c->disk_write, n));
}

/* The turns of the loops between the operator's and loop l: how often it runs in a turn of l. */
static double times_in(const tra_plan *p, const tra_op *o, int l) {
    double times = 1;
    for (int k = o->loop; k >= 0 && k != l; k = p->loops[k].outer) times *= (double)p->loops[k].most;
    return times;
}

static figures of_turn(const tra_plan *p, int l) {
    figures f = {.network = tra_size_exactly(0), .read = tra_size_exactly(0), .written = tra_size_exactly(0)};
    for (int i = p->loops[l].first; i <= p->loops[l].last; i++)
        add(&f, &p->ops[i].predicted.cost, times_in(p, &p->ops[i], l));
    return f;
}

/* Beside the turns: what is computed where the loop stands. */
static figures once(const tra_plan *p, int l) {
    figures f = {.network = tra_size_exactly(0), .read = tra_size_exactly(0), .written = tra_size_exactly(0)};
    for (int i = 0; i < p->nops; i++)
        if (p->ops[i].loop == p->loops[l].outer) add(&f, &p->ops[i].predicted.cost, 1);
    return f;
}

static void figures_json(tra_json *j, const char *name, const figures *f) {
    tra_json_begin(j, name, '{');
    tra_json_num(j, "network_floats", f->network_floats);
    tra_json_size(j, "network_bytes", f->network);
    tra_json_size(j, "disk_read_bytes", f->read);
    tra_json_size(j, "disk_write_bytes", f->written);
    tra_json_num(j, "flops", f->flops);
    tra_json_num(j, "seconds", f->seconds);
    tra_json_end(j, '}');
}

/* The text of the condition, as the program has it. */
static const char *until_of(const tra_plan_loop *l, tra_arena *a) {
    if (l->until < 0 || !l->program) return NULL;
    const char *at = l->program->text + l->until_at;
    size_t n = strcspn(at, "\n#;");
    while (n > 0 && strchr(" \t\r", at[n - 1])) n--;
    return tra_arena_strndup(a, at, n);
}

static void turns_json(tra_json *j, const char *name, double seconds, int64_t read, int64_t sent, int64_t turns) {
    double n = turns > 0 ? (double)turns : 1;
    tra_json_begin(j, name, '{');
    tra_json_num(j, "seconds", seconds / n);
    tra_json_num(j, "disk_read_bytes", (double)read / n);
    tra_json_num(j, "sent_bytes", (double)sent / n);
    tra_json_end(j, '}');
}

/* What the first site measured: of the first turn, and of the others their mean. */
static void measured_json(tra_json *j, const tra_loop_report *r) {
    tra_json_int(j, "turns", r->turns);
    tra_json_bool(j, "converged", r->converged);
    tra_json_begin(j, "measured", '{');
    tra_json_int(j, "turns", r->done);
    turns_json(j, "first", r->first, r->first_read, r->first_sent, 1);
    turns_json(j, "others", r->others, r->others_read, r->others_sent, r->done - 1);
    tra_json_end(j, '}');
}

void tra_json_loops(tra_json *j, const tra_plan *p, const tra_profile *m) {
    tra_arena *a = tra_arena_new();
    char place[256];
    tra_json_begin(j, "loops", '[');
    for (int i = 0; i < p->nloops; i++) {
        const tra_plan_loop *l = &p->loops[i];
        const figures turn = of_turn(p, i), first = once(p, i);
        tra_json_begin(j, NULL, '{');
        tra_json_int(j, "turns_most", l->most);
        tra_json_str(j, "until", until_of(l, a));
        tra_json_int(j, "outer", l->outer);
        tra_json_begin(j, "states", '[');
        for (int k = 0; k < l->nstates; k++) {
            if (l->state[k] < 0) continue;
            const tra_op *o = &p->ops[l->state[k]];
            tra_json_begin(j, NULL, '{');
            tra_json_str(j, "name", o->spec.name);
            tra_json_size(j, "bytes", tra_type_bytes_all(&o->type));
            tra_json_str(j, "placement", tra_place_text(&o->place, place, sizeof place));
            tra_json_end(j, '}');
        }
        tra_json_end(j, ']');
        figures_json(j, "once", &first);
        figures_json(j, "turn", &turn);
        if (m && i < m->nloops) measured_json(j, &m->loops[i]);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
    tra_arena_free(a);
}

void tra_text_loops(const tra_plan *p, bool operators, tra_str *out) {
    tra_arena *a = tra_arena_new();
    char x[TRA_SIZETEXT], y[TRA_SIZETEXT], z[40], u[40];
    for (int i = 0; i < p->nloops; i++) {
        const tra_plan_loop *l = &p->loops[i];
        if (l->last < l->first) continue;
        const figures turn = of_turn(p, i), first = once(p, i);
        const char *until = until_of(l, a);
        int line = tra_program_line(l->program, l->text_at);
        tra_str_printf(out, "loop %d (line %d): at most %" PRId64 " turns%s%s", i, line, l->most,
                       until ? ", until " : "", until ? until : "");
        if (operators) tra_str_printf(out, ", #%d to #%d", l->first, l->last);
        tra_str_add(out, "\n");
        tra_str_printf(out, "  once %s, %s flops, %s read; each turn %s, %s flops, %s read%s%s\n",
                       tra_text_seconds(first.seconds, z, sizeof z), tra_text_number(first.flops, x, sizeof x),
                       tra_size_text(first.read, y), tra_text_seconds(turn.seconds, u, sizeof u),
                       tra_text_number(turn.flops, (char[40]){0}, 40),
                       tra_size_text(turn.read, (char[TRA_SIZETEXT]){0}), p->sites > 1 ? ", moved " : "",
                       p->sites > 1 ? tra_size_text(turn.network, (char[TRA_SIZETEXT]){0}) : "");
    }
    tra_arena_free(a);
}
