/* drawing.c - the plan as SVG: operators are boxes in layers, inputs above, outputs below; lines are data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/dense/dense.h"
#include "explain_int.h"

enum { BOX = 212, ROW = 15, REST = 69, BESIDE = 20, PASS = 4, BELOW = 40, MARGIN = 12, LEGEND = 44 }; /* pixels */
enum { MOST_LINES = 5, LETTERS = 33, TITLE = 29 }; /* of the text of a box; LETTERS, TITLE: of a line of it */

/* ---- text --------------------------------------------------------------------------------------------------- */

/* Bytes of the character at s: 0 for one that XML does not have, or that is no UTF-8. */
static int letter(const unsigned char *s) {
    if (*s < 0x80) return *s >= 0x20 && *s != 0x7f ? 1 : 0;
    int n = *s >= 0xc2 && *s <= 0xdf ? 2 : (*s & 0xf0) == 0xe0 ? 3 : *s >= 0xf0 && *s <= 0xf4 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f, beyond = s[0] == 0xf4 && s[1] > 0x8f;
    bool none = s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
    return overlong || surrogate || beyond || none ? 0 : n;
}

void tra_html_text(const char *text, int n, tra_str *out) {
    int count = 0, all = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s; all++) s += tra_max64(letter(s), 1);
    for (const unsigned char *s = (const unsigned char *)text; *s; count++) {
        int bytes = letter(s);
        if (n > 0 && all > n && count == n - 1) {
            tra_str_add(out, "\xe2\x80\xa6");
            return;
        }
        if (bytes == 0)
            tra_str_add(out, *s == '\n' || *s == '\t' ? " " : "\xef\xbf\xbd"); /* no character */
        else if (bytes == 1 && strchr("<>&\"'", *s))
            tra_str_printf(out, "&#%d;", *s);
        else
            tra_str_addn(out, (const char *)s, (size_t)bytes);
        s += bytes > 0 ? bytes : 1;
    }
}

/* ---- where boxes stand ---------------------------------------------------------------------------------------- */

typedef struct place {
    int layer;
    int x, y;
} place;

/* A line that passes layers between those of its ends stands in each of them, so that it passes beside boxes. */
typedef struct line {
    int from, to, side;
    bool both; /* the reader has two inputs */
    int n, *x; /* in the layers below that of `from` */
} line;

typedef struct drawing {
    const tra_shown_plan *s;
    const tra_profile *m;
    place *v; /* of each operator */
    int nlines;
    line *lines;
    int layers, width, height;
    int high; /* of a box: that of the one with the longest text */
    double most_seconds;
    int64_t most_moved;
    tra_arena *a;
    tra_str *out;
} drawing;

static void find_layers(drawing *d) {
    const tra_plan *p = d->s->plan;
    for (int i = 0; i < p->nops; i++)
        for (int k = 0; k < 2 && p->ops[i].in[k] >= 0; k++)
            d->v[i].layer = (int)tra_max64(d->v[i].layer, d->v[p->ops[i].in[k]].layer + 1);
    for (int i = 0; i < p->nops; i++) { /* what has no input stands above its first reader */
        int first = -1;
        for (int j = i + 1; p->ops[i].in[0] < 0 && j < p->nops; j++)
            if ((p->ops[j].in[0] == i || p->ops[j].in[1] == i) && (first < 0 || d->v[j].layer < first))
                first = d->v[j].layer;
        if (first > 0) d->v[i].layer = first - 1;
    }
    for (int i = 0; i < p->nops; i++) d->layers = (int)tra_max64(d->layers, d->v[i].layer + 1);
}

static void find_lines(drawing *d) {
    const tra_plan *p = d->s->plan;
    d->lines = tra_news(d->a, line, 2 * p->nops);
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        bool both = o->in[1] >= 0 && o->in[1] != o->in[0];
        for (int k = 0; k < 1 + both && o->in[k] >= 0; k++) {
            line *l = &d->lines[d->nlines++];
            *l = (line){.from = o->in[k], .to = i, .side = k, .both = both};
            l->n = d->v[i].layer - d->v[o->in[k]].layer - 1;
            l->x = tra_news(d->a, int, l->n + 1);
        }
    }
}

/* What stands in a layer: a box, or a line that passes. */
typedef struct stand {
    double wish; /* where its middle would be */
    int op;      /* -1: a line, */
    int line, at;
    int rank; /* to tell equal wishes apart */
} stand;

static int by_wish(const void *a, const void *b) {
    const stand *x = a, *y = b;
    if (x->wish != y->wish) return x->wish < y->wish ? -1 : 1;
    return x->rank - y->rank;
}

static int middle(const drawing *d, int op) { return d->v[op].x + BOX / 2; }

/* Lists what stands in a layer, by the places of the layers above. Returns how many. */
static int list_layer(const drawing *d, int layer, stand *row) {
    const tra_plan *p = d->s->plan;
    int n = 0;
    for (int i = 0; i < p->nops; i++) {
        double sum = 0;
        int inputs = 0;
        if (d->v[i].layer != layer) continue;
        for (int k = 0; k < 2 && p->ops[i].in[k] >= 0; k++) sum += middle(d, p->ops[i].in[k]), inputs++;
        row[n] = (stand){.wish = inputs ? sum / inputs : 1e9, .op = i, .rank = n}, n++;
    }
    for (int i = 0; i < d->nlines; i++) {
        const line *l = &d->lines[i];
        int at = layer - d->v[l->from].layer - 1;
        if (at < 0 || at >= l->n) continue;
        row[n] = (stand){.wish = at > 0 ? l->x[at - 1] : middle(d, l->from), .op = -1, .line = i, .at = at, .rank = n};
        n++;
    }
    qsort(row, (size_t)n, sizeof *row, by_wish);
    return n;
}

static int width_of(const stand *s) { return s->op >= 0 ? BOX : PASS; }

/* Places layer after layer: each box below the middle of its inputs, as far as there is room. */
static void find_places(drawing *d) {
    const tra_plan *p = d->s->plan;
    stand *row = tra_news(d->a, stand, p->nops + d->nlines);
    int *x = tra_news(d->a, int, p->nops + d->nlines), left = 0, right = 0;
    for (int l = 0; l < d->layers; l++) {
        int n = list_layer(d, l, row), end = 0, shift = 0, boxes = 0;
        for (int k = 0; k < n; k++) boxes += row[k].op >= 0;
        for (int k = 0; k < n; k++) { /* from the left, none over another */
            int wish = row[k].wish < 1e9 ? (int)row[k].wish - width_of(&row[k]) / 2 : end;
            x[k] = k == 0 ? wish : (int)tra_max64(wish, end);
            end = x[k] + width_of(&row[k]) + BESIDE;
            if (row[k].op >= 0 || boxes == 0) shift += row[k].wish < 1e9 ? wish - x[k] : 0; /* lines yield to boxes */
        }
        for (int k = 0; k < n; k++) { /* and all of them so that they are displaced alike to both sides */
            x[k] += n ? shift / (boxes ? boxes : n) : 0;
            if (row[k].op >= 0)
                d->v[row[k].op].x = x[k];
            else
                d->lines[row[k].line].x[row[k].at] = x[k] + PASS / 2;
            left = (int)tra_min64(left, x[k]);
            right = (int)tra_max64(right, x[k] + width_of(&row[k]));
        }
    }
    for (int i = 0; i < p->nops; i++) {
        d->v[i].x += MARGIN - left;
        d->v[i].y = MARGIN + d->v[i].layer * (d->high + BELOW);
    }
    for (int i = 0; i < d->nlines; i++)
        for (int k = 0; k < d->lines[i].n; k++) d->lines[i].x[k] += MARGIN - left;
    d->width = 2 * MARGIN + right - left;
    d->height = 2 * MARGIN + d->layers * (d->high + BELOW) - BELOW + LEGEND;
}

/* ---- boxes and lines ------------------------------------------------------------------------------------------ */

static double measured_seconds(const drawing *d, int op) { return d->m ? tra_profile_sum(d->m, op).seconds : 0; }

/* The class of a box. */
static const char *class_of(const tra_op *o, int sites) {
    if (tra_op_is(o->op, TRA_FILE)) return "file";
    if (tra_op_is(o->op, TRA_EXCHANGES) && sites > 1) return "exchange";
    if (o->loop >= 0) return o->method.fused ? "loop fused" : "loop";
    return o->method.fused ? "fused" : "plain";
}

static void add_line(drawing *d, int x, int y, const char *class, const char *text, int n) {
    tra_str_printf(d->out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    tra_html_text(text, n, d->out);
    tra_str_add(d->out, "</text>\n");
}

/* What the operator does, or the file that it is about. */
static const char *what_of(const tra_shown_op *s) {
    const char *rest = s->label + strlen(tra_plan_op_text(s->op->op));
    while (*rest == ' ') rest++;
    bool file = !*rest && s->op->spec.path && tra_op_is(s->op->op, TRA_FILE) && !tra_rel_is_made(s->op->spec.path);
    return file ? s->op->spec.path : rest;
}

/* Breaks text at blanks, or where there are none, into lines of at most LETTERS; the last line has what is left.
 * Returns how many. */
static int wrap(const drawing *d, const char *text, const char *line[MOST_LINES]) {
    int n = 0;
    while (*text && n < MOST_LINES) {
        const char *end = text, *blank = NULL;
        int letters = 0;
        for (; *end; end++) {
            letters += ((unsigned char)*end & 0xc0) != 0x80;
            if (letters > LETTERS) break;
            if (*end == ' ') blank = end;
        }
        if (n == MOST_LINES - 1)
            end = text + strlen(text);
        else if (*end && *end != ' ' && blank)
            end = blank;
        line[n++] = tra_arena_strndup(d->a, text, (size_t)(end - text));
        text = end + strspn(end, " ");
    }
    return n;
}

/* The frame of the bars of a box, which is as long as the most seconds of any. */
static void add_scale(drawing *d, int x, int y, int height) {
    tra_str_printf(d->out, "<rect class=\"scale\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", x, y, BOX - 16,
                   height);
}

/* The seconds of an operator as a bar, beside the most of any. */
static void add_bar(drawing *d, int x, int y, const char *class, double seconds) {
    if (seconds <= 0 || d->most_seconds <= 0) return;
    double share = seconds / d->most_seconds;
    tra_str_printf(d->out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"4\"/>\n", class, x, y,
                   fmax(1, share * (BOX - 16)));
}

static void add_box(drawing *d, int i) {
    const tra_shown_op *s = &d->s->ops[i];
    const tra_op *o = s->op;
    int x = d->v[i].x, y = d->v[i].y;
    char size[TRA_DIMTEXT + 64], moved[TRA_SIZETEXT], seconds[40];
    tra_str text = {0};
    int64_t bytes = o->predicted.cost.network_bytes.expected;
    tra_str_printf(d->out, "<g class=\"op\"><title>#%d ", i);
    tra_html_text(s->label, 0, d->out);
    tra_str_add(d->out, ", ");
    tra_html_text(s->place, 0, d->out);
    tra_str_printf(d->out, "</title><rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"",
                   class_of(o, d->s->plan->sites), x, y, BOX, d->high);
    if (bytes > 0) tra_str_printf(d->out, " fill-opacity=\"%.2f\"", 0.3 + 0.7 * (double)bytes / (double)d->most_moved);
    tra_str_add(d->out, "/>\n");
    tra_str_printf(&text, "#%d %s%s%s", i, tra_plan_op_text(o->op), s->relation ? " " : "",
                   s->relation ? s->relation : "");
    add_line(d, x + 8, y + 16, "name", tra_str_get(&text), TITLE);
    tra_str_free(&text);
    const char *line[MOST_LINES];
    int lines = wrap(d, what_of(s), line);
    for (int k = 0; k < lines; k++) add_line(d, x + 8, y + 16 + ROW * (k + 1), "what", line[k], LETTERS);
    y += d->high - REST - ROW; /* what follows stands at the bottom */
    add_line(d, x + 8, y + 46, "size", tra_text_size_of(o, size, sizeof size), LETTERS);
    if (d->s->plan->sites > 1) tra_str_printf(&text, "%s", s->place);
    if (bytes > 0) tra_str_printf(&text, ", %s moved", tra_size_short_text(o->predicted.cost.network_bytes, moved));
    if (d->s->plan->sites == 1 && o->predicted.cost.seconds > 0)
        tra_str_printf(
            &text, "%s",
            tra_text_seconds(o->predicted.cost.seconds * tra_op_times(d->s->plan, o), seconds, sizeof seconds));
    if (d->s->plan->sites == 1 && measured_seconds(d, i) > 0 && !tra_op_is(o->op, TRA_READS)) /* others read it */
        tra_str_printf(&text, "%stook %s", text.n ? ", " : "",
                       tra_text_seconds(measured_seconds(d, i), seconds, sizeof seconds));
    double reads = d->m ? tra_profile_sum(d->m, i).read_seconds : 0; /* of an input that others read */
    if (reads > 0)
        tra_str_printf(&text, "%sread in %s", text.n ? ", " : "", tra_text_seconds(reads, seconds, sizeof seconds));
    add_line(d, x + 8, y + 61, "size", tra_str_get(&text), LETTERS);
    tra_str_free(&text);
    add_scale(d, x + 8, y + REST, d->m ? 10 : 4);
    add_bar(d, x + 8, y + REST, "predicted", o->predicted.cost.seconds * tra_op_times(d->s->plan, o));
    add_bar(d, x + 8, y + REST + 6, "measured", measured_seconds(d, i));
    tra_str_add(d->out, "</g>\n");
}

/* The line from an input to its reader; from an exchange it is as thick as the bytes it moves are many. */
static void add_edge(drawing *d, const line *l) {
    int x = middle(d, l->from), y = d->v[l->from].y + d->high;
    int64_t bytes = d->s->plan->ops[l->from].predicted.cost.network_bytes.expected;
    double width = bytes > 0 ? 1.5 + 4 * (double)bytes / (double)d->most_moved : 1.2;
    tra_str_printf(d->out, "<path class=\"%s\" stroke-width=\"%.1f\" d=\"M%d %d", bytes > 0 ? "edge moves" : "edge",
                   width, x, y);
    for (int k = 0; k <= l->n; k++) {
        int end = d->v[l->to].x + (l->both ? BOX * (1 + l->side) / 3 : BOX / 2), to = k < l->n ? l->x[k] : end;
        tra_str_printf(d->out, "C%d %d %d %d %d %d", x, y + BELOW / 2, to, y + BELOW / 2, to, y + BELOW);
        if (k < l->n) tra_str_printf(d->out, "V%d", y + BELOW + d->high);
        x = to;
        y += BELOW + d->high;
    }
    tra_str_add(d->out, "\"/>\n");
}

static const char STYLE[] =
    "<style>.plan text{font:11px system-ui,sans-serif;fill:#1c2733}.plan .name{font-weight:600;font-size:12px}"
    ".plan .box{fill:#fff;stroke:#5b6b7b}.plan .file{fill:#e7eef7}.plan .exchange{fill:#f5b942;stroke:#a86f00}"
    ".plan .fused{stroke-dasharray:4 3}.plan .loop{stroke:#7a3fb0;stroke-width:2}.plan .edge{fill:none;stroke:#8896a5}"
    ".plan .moves{stroke:#c98400}.plan .predicted{fill:#3b74b9}.plan .measured{fill:#d1572f}"
    ".plan .scale{fill:none;stroke:#c3cad1;stroke-width:.7}"
    "@media (prefers-color-scheme:dark){.plan text{fill:#e6ebf0}.plan .box{fill:#1d2732;stroke:#8da0b3}"
    ".plan .file{fill:#23374d}.plan .exchange{fill:#8a5a00;stroke:#f5b942}.plan .loop{stroke:#c79bf2}"
    ".plan .predicted{fill:#6ea8e8}.plan .measured{fill:#f0855f}}"
    "@media print{.plan text{fill:#000}.plan .box{fill:#fff;stroke:#444}.plan .exchange{fill:#f5b942}}</style>\n";

static void add_legend(drawing *d) {
    int y = d->height - LEGEND + 12;
    tra_str_printf(d->out,
                   "<rect class=\"predicted\" x=\"%d\" y=\"%d\" width=\"14\" height=\"5\"/><text x=\"%d\" "
                   "y=\"%d\">predicted</text>\n",
                   MARGIN, y, MARGIN + 18, y + 7);
    if (d->m)
        tra_str_printf(d->out,
                       "<rect class=\"measured\" x=\"%d\" y=\"%d\" width=\"14\" height=\"5\"/><text x=\"%d\" "
                       "y=\"%d\">measured</text>\n",
                       MARGIN + 84, y, MARGIN + 102, y + 7);
    char most[40];
    tra_str_printf(d->out, "<text x=\"%d\" y=\"%d\">the frame of a box's bars: %s</text>\n", MARGIN, y + 22,
                   tra_text_seconds(d->most_seconds, most, sizeof most));
}

/* Rows of a drawing that a printed page (A4 or letter, upright) has room for; 0: it fits on one. */
static int page_height(const drawing *d) {
    enum { WIDTH = 700, HEIGHT = 880 };
    int layer = d->high + BELOW;
    double scale = fmin(1, (double)WIDTH / d->width);
    return d->height * scale <= HEIGHT ? 0 : (int)fmax(1, HEIGHT / scale / layer) * layer;
}

/* The drawing in parts of this height, cut between layers, which are printed in its place. */
static void add_pages(const drawing *d, int height) {
    tra_str_add(d->out, "<div class=\"pages\">\n");
    for (int from = 0, end = 0; end < d->height; from = end) {
        end = from + height + MARGIN + LEGEND < d->height ? from + height : d->height;
        tra_str_printf(d->out,
                       "<svg viewBox=\"0 %d %d %d\" width=\"%d\" height=\"%d\"><use href=\"#drawing\"/></svg>\n", from,
                       d->width, end - from, d->width, end - from);
    }
    tra_str_add(d->out, "</div>\n");
}

void tra_svg_plan(const tra_shown_plan *s, const tra_profile *m, bool alone, tra_str *out) {
    const tra_plan *p = s->plan;
    drawing d = {.s = s, .m = m, .out = out, .most_moved = 1, .a = tra_arena_new()};
    d.v = tra_news(d.a, place, p->nops);
    for (int i = 0; i < p->nops; i++) {
        d.most_seconds = fmax(d.most_seconds, p->ops[i].predicted.cost.seconds * tra_op_times(p, &p->ops[i]));
        d.most_seconds = fmax(d.most_seconds, measured_seconds(&d, i));
        d.most_moved = tra_max64(d.most_moved, p->ops[i].predicted.cost.network_bytes.expected);
    }
    for (int i = 0, most = 1; i < p->nops; i++) {
        const char *line[MOST_LINES];
        most = (int)tra_max64(most, wrap(&d, what_of(&s->ops[i]), line));
        d.high = REST + ROW * most;
    }
    find_layers(&d);
    find_lines(&d);
    find_places(&d);
    int page = page_height(&d);
    if (!alone) tra_str_printf(out, "<div class=\"scroll%s\">\n", page ? " cut" : "");
    tra_str_printf(out,
                   "<svg class=\"plan\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                   "height=\"%d\" role=\"img\" aria-label=\"the plan\">\n",
                   d.width, d.height, d.width, d.height);
    if (alone) tra_str_add(out, "<title>plan of tra</title>\n");
    tra_str_add(out, STYLE);
    tra_str_add(out, "<g class=\"plan\" id=\"drawing\">\n");
    for (int i = 0; i < d.nlines; i++) add_edge(&d, &d.lines[i]);
    for (int i = 0; i < p->nops; i++) add_box(&d, i);
    add_legend(&d);
    tra_str_add(out, "</g>\n</svg>\n");
    if (!alone && page) add_pages(&d, page);
    if (!alone) tra_str_add(out, "</div>\n");
    tra_arena_free(d.a);
}

void tra_explain_svg(const tra_job *job, const tra_profile *measured, tra_str *out) {
    tra_arena *a = tra_arena_new();
    tra_svg_plan(tra_explain_plan(job, job->plan, a), measured, true, out);
    tra_arena_free(a);
}
