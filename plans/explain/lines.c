/* lines.c - a plan in the words of its program: a line for each statement, with what is expected of it, and with what a
 * run measured of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../lib/physical/needs.h"
#include "../../lib/physical/scan.h"
#include "../lang/names.h"
#include "../search/cost.h"
#include "explain_int.h"

int tra_text_width(void) {
    static int width;
    enum { LEAST = 60, MOST = 400 };
    struct winsize w;
    int64_t columns = 0;
    const char *given = getenv("COLUMNS");
    if (width) return width;
    if (!isatty(STDOUT_FILENO)) return width = TRA_TEXT_WIDTH;
    if (!given || !tra_parse_int(given, &columns) || columns < 1)
        columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
    return width = columns < 1 ? TRA_TEXT_WIDTH : (int)tra_max64(LEAST, tra_min64(columns, MOST));
}

/* ---- the statements of the program -------------------------------------------------------------------------- */

/* The statement in one line: without comments, and with one blank for several; of a loop what stands before its body.
 */
static const char *text_of(const tra_script *src, const tra_stmt *s, tra_arena *a) {
    tra_str line = {0};
    int end = s->span.at + s->span.len;
    bool quoted = false, blank = false;
    for (int i = s->span.at; i < end && i < src->n; i++) {
        char c = src->text[i];
        if (c == '"') quoted = !quoted;
        if (!quoted && c == '#') i += (int)strcspn(src->text + i, "\n"), c = ' ';
        if (!quoted && strchr(" \t\r\n", c)) {
            blank = line.n > 0;
            continue;
        }
        if (blank) tra_str_add(&line, " ");
        blank = false;
        tra_str_addn(&line, &c, 1);
        if (s->kind == TRA_STMT_REPEAT && !quoted && c == '{') break;
    }
    return tra_arena_take(a, &line);
}

typedef struct lines {
    const tra_script *src;
    tra_arena *a;
    int n, cap;
    tra_shown_statement *v;
} lines;

static int newlines(const char *text, int from, int to) {
    int n = 0;
    for (int i = from; i < to; i++) n += text[i] == '\n';
    return n;
}

/* The statements come in the order of the text. */
static void add_statements(lines *l, const tra_ast_program *p, int depth) {
    for (int i = 0; i < p->n; i++) {
        const tra_stmt *s = &p->v[i];
        if (l->n > 0 && l->v[l->n - 1].at == s->span.at) continue; /* one statement with several results */
        TRA_ARENA_ROOM(l->a, l->v, l->n, l->cap);
        tra_shown_statement *x = &l->v[l->n++];
        *x = (tra_shown_statement){.kind = s->kind, .at = s->span.at, .depth = depth, .name = s->name, .first = -1};
        int from = l->n > 1 ? x[-1].at : l->src->first;
        x->line = (l->n > 1 ? x[-1].line : 1) + newlines(l->src->text, from, x->at);
        x->text = text_of(l->src, s, l->a);
        if (s->kind == TRA_STMT_REPEAT && s->body) add_statements(l, s->body, depth + 1);
    }
}

/* The statement that text at this offset stands in: the last that begins there or before; -1: none. */
static int statement_at(const lines *l, int at) {
    int low = -1, high = l->n;
    while (high - low > 1) {
        int mid = (low + high) / 2;
        *(l->v[mid].at <= at ? &low : &high) = mid;
    }
    while (low >= 0 && l->v[low].kind == TRA_STMT_DEF) low--;
    return low;
}

/* ---- figures ------------------------------------------------------------------------------------------------ */

/* The operator whose statement has the costs of operator i: of an input that is read by others, the first stage that
 * does. first: of each operator the first that reads it; 0: none. */
static int reader_of(const tra_plan *p, const int *first, int i) {
    for (int j = first[i]; j > 0 && tra_op_is(p->ops[i].op, TRA_READS); j = first[j])
        if (tra_op_is_stage(&p->ops[j])) return j;
    return i;
}

/* Adds what an operator costs in all turns of the loops that it stands in, but for what it writes and moves. */
static void add_costs(tra_shown_statement *x, const tra_plan *p, const tra_op *o) {
    const tra_cost *c = &o->predicted.cost;
    double times = tra_op_times(p, o);
    if (!tra_op_overlaps(o)) x->seconds += times * c->seconds; /* else they are also those of a stage */
    x->memory = tra_max64(x->memory, o->predicted.held);
    x->read = tra_size_add(x->read, tra_size_times(c->disk_read, (int64_t)times));
}

/* The site that computed longest, so waited least for others: its seconds tell which statement was waited for. */
static int busiest(const tra_profile *m) {
    int at = 0;
    for (int i = 1; i < m->sites; i++)
        if (tra_profile_site(m, m->nops, i)->kernel_seconds > tra_profile_site(m, m->nops, at)->kernel_seconds) at = i;
    return at;
}

/* overlaps: its seconds are those of another, too. */
static void add_measured(tra_shown_statement *x, const tra_profile *m, int op, int site, bool overlaps) {
    tra_op_report r = tra_profile_sum(m, op);
    if (!overlaps) x->measured.seconds += tra_profile_site(m, op, site)->seconds;
    x->measured.peak_memory = tra_max64(x->measured.peak_memory, r.peak_memory);
    x->measured.disk_read += r.disk_read;
}

/* Adds to the line of an input what is read of it in line `reader`, which has its costs. */
static void add_input(struct tra_shown_input *x, int reader, const tra_op *o, const tra_op_report *measured) {
    if (x->reader == 0) x->reader = reader;
    x->read += o->predicted.read;
    x->seconds += measured->read_seconds;
}

/* What came before the statements and after them. */
static void add_phases(lines *l, const tra_timeline *t) {
    for (int k = 0; k < TRA_PHASES_COUNT; k++) {
        if (t->buckets == 0 || t->phase[k] < 0.5e-3) continue;
        if (k == TRA_PHASE_PLACE) continue; /* these seconds are the outputs' */
        TRA_ARENA_ROOM(l->a, l->v, l->n, l->cap);
        l->v[l->n++] = (tra_shown_statement){
            .kind = TRA_STMT_DEF, .first = -1, .text = tra_phase_text((tra_phase)k), .measured.seconds = t->phase[k]};
    }
}

/* The first statement at whose end a site had held the most that was seen; -1: none. */
static int measured_peak(const lines *l) {
    enum { NOISE = 64 }; /* such a part of the peak may come after it */
    int64_t most = 0;
    int at = 0;
    for (int i = 0; i < l->n; i++) most = tra_max64(most, l->v[i].measured.peak_memory);
    while (at < l->n && l->v[at].measured.peak_memory < most - most / NOISE) at++;
    return most > 0 ? at : -1;
}

tra_shown_statements tra_explain_statements(const tra_job *job, const tra_plan *p, const tra_profile *m, tra_arena *a) {
    tra_diags diags = {.arena = a, .src = &job->program.src};
    tra_ast_program ast;
    lines l = {.src = &job->program.src, .a = a};
    tra_shown_statements out = {.of = tra_news(a, int, p->nops), .peak = -1};
    int64_t most = 0;
    int site = m ? busiest(m) : 0;
    tra_parse(l.src, a, &diags, &ast);
    add_statements(&l, &ast, 0);
    for (int i = 0; i < l.n; i++) l.v[i].read = l.v[i].written = l.v[i].moved = tra_size_exactly(0);
    tra_names outputs = {.arena = a};
    int *first = tra_calloc((size_t)p->nops + 1, sizeof *first);
    for (int i = 0; i < l.n; i++) {
        bool named = l.v[i].kind == TRA_STMT_OUTPUT && l.v[i].name;
        if (named && tra_names_find(&outputs, l.v[i].name) < 0) tra_names_add(&outputs, l.v[i].name, &l.v[i]);
    }
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        int at = o->op == TRA_PLAN_OUTPUT && o->spec.name ? tra_names_find(&outputs, o->spec.name) : -1;
        out.of[i] =
            at < 0 ? statement_at(&l, o->spec.text_at) : (int)((const tra_shown_statement *)outputs.value[at] - l.v);
        for (int j = 0; j < 2 && o->in[j] >= 0; j++)
            if (first[o->in[j]] == 0) first[o->in[j]] = i;
    }
    int *stage = tra_plan_runs_in(p);
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        int s = out.of[reader_of(p, first, i)], writes = out.of[stage[i]];
        if (writes >= 0) { /* where its time is spent */
            tra_size bytes = tra_size_times(o->predicted.cost.disk_write, (int64_t)tra_op_times(p, o));
            l.v[writes].written = tra_size_add(l.v[writes].written, bytes);
            if (m) l.v[writes].measured.disk_write += tra_profile_sum(m, i).disk_write;
        }
        int moves = out.of[o->method.ends]; /* an exchange that overlaps a stage takes the time of that */
        if (moves >= 0) {
            tra_size bytes = tra_size_times(o->predicted.cost.network_bytes, (int64_t)tra_op_times(p, o));
            l.v[moves].moved = tra_size_add(l.v[moves].moved, bytes);
            if (m) l.v[moves].measured.sent += tra_profile_sum(m, i).sent;
        }
        if (s < 0) continue;
        tra_op_report r = m ? tra_profile_sum(m, i) : (tra_op_report){0};
        if (out.of[i] >= 0 && out.of[i] != s) add_input(&l.v[out.of[i]].input, l.v[s].line, o, &r);
        tra_shown_statement *x = &l.v[s];
        if (x->first < 0) x->first = i;
        add_costs(x, p, o);
        if (m) add_measured(x, m, i, site, tra_op_overlaps(o));
        if (o->predicted.held > most) most = o->predicted.held, out.peak = s;
    }
    free(stage);
    free(first);
    if (m) out.peak = measured_peak(&l), add_phases(&l, &m->timeline);
    out.n = l.n;
    out.v = l.v;
    return out;
}

bool tra_statement_is_shown(const tra_shown_statement *x) {
    if (x->kind == TRA_STMT_REPEAT) return true;
    if (x->line == 0) return true;
    if (x->first < 0) return false;
    return x->seconds > 0 || x->memory > 0 || x->read.bound > 0 || x->written.bound > 0 || x->moved.bound > 0;
}

/* ---- text --------------------------------------------------------------------------------------------------- */

enum { SECONDS, MEMORY, READ, WRITTEN, DISK, MOVED, FIGURES }; /* DISK: read and written, where room is short */
enum { WIDE = 10, NARROW = 7 };                                /* columns of a figure; of a short one */

static double figure(const tra_shown_statement *x, int column, bool measured) {
    const tra_op_report *m = &x->measured;
    switch (column) {
    case SECONDS: return measured ? m->seconds : x->seconds;
    case MEMORY: return (double)(measured ? m->peak_memory : x->memory);
    case READ: return (double)(measured ? m->disk_read : x->read.expected);
    case WRITTEN: return (double)(measured ? m->disk_write : x->written.expected);
    case DISK: return figure(x, READ, measured) + figure(x, WRITTEN, measured);
    default: return (double)(measured ? m->sent : x->moved.expected);
    }
}

/* "12.5 MiB"; short "12.5M". "" for nothing. */
static const char *figure_text(double v, int column, bool brief, char buf[40]) {
    if (v <= 0) return "";
    if (column != SECONDS) {
        tra_human((int64_t)v, buf);
        char *blank = strchr(buf, ' ');
        if (brief && blank) blank[0] = blank[1], blank[1] = 0;
        return buf;
    }
    if (!brief) return tra_text_seconds(v, buf, 40);
    if (v < 1)
        snprintf(buf, 40, v < 1e-3 ? "%.3gus" : "%.3gms", v * (v < 1e-3 ? 1e6 : 1e3));
    else
        snprintf(buf, 40, v < 600 ? "%.3gs" : "%.3gmin", v / (v < 600 ? 1 : 60));
    return buf;
}

/* How the table is set. */
typedef struct table {
    const tra_shown_statements *s;
    bool pairs; /* what was measured stands beside what was predicted */
    bool shown[FIGURES];
    int cell, column; /* columns of a figure, and of all that belongs to one name */
    int text;         /* of the statement */
} table;

static const char PEAK[] = "  <- peak";

/* Sets how many columns the statement has with these figures. */
static void find_text(table *t) {
    int longest = 9;
    t->text = tra_text_width() - 6 - (int)strlen(PEAK);
    for (int c = 0; c < FIGURES; c++) t->text -= t->shown[c] ? 2 + t->column : 0;
    for (int i = 0; i < t->s->n; i++)
        if (tra_statement_is_shown(&t->s->v[i]))
            longest = (int)tra_max64(longest, (int64_t)strlen(t->s->v[i].text) + 2 * t->s->v[i].depth);
    t->text = (int)tra_min64(t->text, longest);
}

/* The columns that have anything to say; what is moved has its own only where there are several sites. Where the
 * statement has little room, figures are short, and one column has the bytes that are read and written. */
static table table_of(const tra_shown_statements *s, int sites, bool pairs) {
    enum { ENOUGH = 40, FEW = 20, LEAST = 9 };
    table t = {.s = s, .pairs = pairs, .cell = pairs ? NARROW : WIDE};
    t.column = pairs ? 2 * t.cell + 1 : t.cell;
    for (int c = 0; c < FIGURES; c++) {
        t.shown[c] = c == SECONDS || c == MEMORY || (c == MOVED && sites > 1);
        for (int i = 0; i < s->n && c != DISK && c != MOVED; i++)
            t.shown[c] |= figure(&s->v[i], c, false) > 0 || (pairs && figure(&s->v[i], c, true) > 0);
    }
    find_text(&t);
    if (!pairs && t.text < FEW) {
        t.cell = t.column = NARROW;
        find_text(&t);
    }
    if (t.shown[READ] && t.shown[WRITTEN] && t.text < (pairs ? ENOUGH : FEW)) {
        t.shown[READ] = t.shown[WRITTEN] = false;
        t.shown[DISK] = true;
        find_text(&t);
    }
    t.text = (int)tra_max64(t.text, LEAST);
    return t;
}

/* Adds the names of the columns; of pairs a second line says which is which. */
static void add_names(const table *t, tra_str *out) {
    static const char *const names[FIGURES] = {"seconds", "memory", "read", "written", "disk", "moved"};
    for (int row = 0; row <= t->pairs; row++) {
        bool last = row == t->pairs;
        tra_text_cell(out, last ? "line" : "", -4);
        tra_str_add(out, "  ");
        tra_text_cell(out, last ? "statement" : "", t->text);
        for (int c = 0; c < FIGURES; c++) {
            if (!t->shown[c]) continue;
            tra_str_add(out, "  ");
            tra_text_cell(out, row == 0 ? names[c] : "plan     run", -t->column);
        }
        tra_text_end_line(out);
    }
}

void tra_text_lines(const tra_shown_statements *s, int sites, bool measured, tra_str *out) {
    table t = table_of(s, sites, measured);
    char buf[40];
    add_names(&t, out);
    for (int i = 0; i < s->n; i++) {
        const tra_shown_statement *x = &s->v[i];
        if (!tra_statement_is_shown(x)) continue;
        tra_str text = {0};
        if (x->line > 0)
            tra_str_printf(out, "%4d  ", x->line);
        else
            tra_str_add(out, "      ");
        tra_str_printf(&text, "%*s%s", 2 * x->depth, "", x->text);
        tra_text_cell(out, tra_str_get(&text), t.text);
        tra_str_free(&text);
        for (int c = 0; c < FIGURES; c++) {
            if (!t.shown[c]) continue;
            tra_str_add(out, "  ");
            tra_text_cell(out, figure_text(figure(x, c, false), c, t.cell == NARROW, buf), -t.cell);
            if (!measured) continue;
            tra_str_add(out, " ");
            tra_text_cell(out, figure_text(figure(x, c, true), c, true, buf), -t.cell);
        }
        if (i == s->peak) tra_str_add(out, PEAK);
        tra_text_end_line(out);
    }
}
