/* plot.c - pictures of data as text, as JSON, and how large they are. */
#include "plot.h"

#include <ctype.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* ---- the terminal ----------------------------------------------------------------------------------------------- */

enum { DOTS_DOWN = 4, DOTS_ACROSS = 2, NARROWEST = 20, WIDEST = 400 }; /* dots of a character of braille */

int tra_terminal_width(void) {
    struct winsize w;
    const char *columns = getenv("COLUMNS");
    int64_t n = 80;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        n = w.ws_col;
    else if (columns && !tra_parse_int(columns, &n))
        n = 80;
    return (int)tra_min64(tra_max64(n, NARROWEST), WIDEST);
}

/* As setlocale would find it, but that the locale need not be installed here. */
static bool is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (!v || !*v) continue;
        const char *dot = strchr(v, '.');
        return dot && (strncasecmp(dot + 1, "utf-8", 5) == 0 || strncasecmp(dot + 1, "utf8", 4) == 0);
    }
    return false;
}

/* ---- bars ------------------------------------------------------------------------------------------------------- */

/* Columns of a character that can be printed, by Unicode, whatever the user's locale is. */
static int width_of(unsigned code) {
    static locale_t unicode;
    if (code < 0x300) return 1;
    if (!unicode) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!unicode) return 1; /* which every Debian has */
    locale_t was = uselocale(unicode);
    int n = wcwidth((wchar_t)code);
    uselocale(was);
    return n < 0 ? 1 : n;
}

/* Columns of the character at s; *bytes: its length. A byte that begins none counts as one. */
static int character(const char *s, int *bytes) {
    unsigned char first = (unsigned char)*s;
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    unsigned code = more ? first & (0x3fU >> more) : first;
    for (*bytes = 1; *bytes <= more && (s[*bytes] & 0xc0) == 0x80; ++*bytes)
        code = code << 6 | ((unsigned char)s[*bytes] & 0x3f);
    return *bytes <= more ? 1 : width_of(code);
}

int tra_text_columns(const char *s) {
    int n = 0;
    for (int bytes; *s; s += bytes) n += character(s, &bytes);
    return n;
}

const char *tra_text_shown(tra_arena *a, const char *s, int most) {
    int n = 0, bytes, w;
    const char *text = tra_printable(tra_arena_strndup(a, s, strlen(s)), false), *end = text;
    for (; *end && n + (w = character(end, &bytes)) <= most; end += bytes) n += w;
    return *end ? tra_arena_printf(a, "%.*s...", (int)(end - text), text) : text;
}

static void pad(tra_str *out, int n) { tra_str_printf(out, "%*s", n > 0 ? n : 0, ""); }

static void bar(double cells, bool utf8, tra_str *out) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int n = (int)cells, part = (int)((cells - n) * 8);
    for (int i = 0; i < n; i++) tra_str_add(out, utf8 ? "█" : "#");
    if (utf8)
        tra_str_add(out, n == 0 && part == 0 && cells > 0 ? eighths[1] : eighths[part]);
    else if (cells > 0 && n == 0)
        tra_str_add(out, ".");
}

/* Labels are cut to what leaves room for bars. */
static void bars_text(const tra_plot *p, int width, bool utf8, tra_str *out) {
    enum { BARS = 4, LEAST = 4, DOTS = 3 };
    int label = 0, number = 1;
    int64_t most = 1;
    char text[32];
    tra_arena *a = tra_arena_new();
    const char **shown = tra_news(a, const char *, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        int d = snprintf(text, sizeof text, "%" PRId64, p->count[i]);
        number = d > number ? d : number;
        most = tra_max64(most, p->count[i]);
    }
    int longest = width - number - 6 - BARS - DOTS;
    for (int i = 0; i < p->n; i++) {
        bool fits = tra_text_columns(p->label[i]) <= longest + DOTS;
        shown[i] = tra_text_shown(a, p->label[i], fits ? INT_MAX : longest > LEAST ? longest : LEAST);
        int w = tra_text_columns(shown[i]);
        label = w > label ? w : label;
    }
    int room = width - label - number - 6;
    if (room < BARS) room = BARS;
    for (int i = 0; i < p->n; i++) {
        tra_str_add(out, "  ");
        pad(out, label - tra_text_columns(shown[i]));
        tra_str_printf(out, "%s  %*" PRId64 "%s", shown[i], number, p->count[i], p->count[i] ? " " : "");
        bar((double)p->count[i] * room / (double)most, utf8, out);
        tra_str_add(out, "\n");
    }
    tra_arena_free(a);
}

/* ---- heat maps -------------------------------------------------------------------------------------------------- */

/* Cells down and across. Text: a character is about twice as high as it is wide, and is cut in dots of braille. */
void tra_plot_grid(const int64_t shape[2], bool text, int *rows, int *columns) {
    enum { MARGIN = 4, TALLEST = 32 };
    double across = text ? (double)(tra_terminal_width() - MARGIN) * DOTS_ACROSS : TRA_PLOT_SIDE;
    double down = text ? TALLEST * DOTS_DOWN : TRA_PLOT_SIDE;
    double ratio = (double)tra_max64(shape[0], 1) / (double)tra_max64(shape[1], 1);
    if (ratio < 16 && ratio > 1.0 / 16) { /* as it is; what is longer is drawn as high or wide as there is room */
        double by = fmin(across, down / ratio);
        across = by, down = by * ratio;
    }
    *columns = (int)tra_min64(shape[1], (int64_t)fmax(across, 1));
    *rows = (int)tra_min64(shape[0], (int64_t)fmax(down, 1));
    if (text && *rows > DOTS_DOWN) *rows -= *rows % DOTS_DOWN; /* whole characters */
    if (text && *columns > DOTS_ACROSS) *columns -= *columns % DOTS_ACROSS;
}

/* The least and greatest value; *set: how many cells have one. */
static void range_of(const tra_plot *p, double *low, double *high, int64_t *set) {
    *low = INFINITY, *high = -INFINITY, *set = 0;
    for (int64_t i = 0; i < (int64_t)p->rows * p->columns; i++) {
        double v = p->value[i];
        if (!isfinite(v)) continue;
        *low = fmin(*low, v);
        *high = fmax(*high, v);
        ++*set;
    }
}

/* Where a value is between both, from 0 to 1. */
static double share_of(const tra_plot *p, double v, double low, double high) {
    if (!(high > low)) return 1;
    if (p->logarithmic) return log(v / low) / log(high / low);
    return (v - low) / (high - low);
}

/* Dots of braille: bit by row and column. */
static void braille(unsigned dots, tra_str *out) {
    unsigned code = 0x2800 + dots;
    char s[3] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f))};
    tra_str_addn(out, s, 3);
}

static double cell(const tra_plot *p, int r, int c) {
    return r < p->rows && c < p->columns ? p->value[(int64_t)r * p->columns + c] : NAN;
}

static void dots_text(const tra_plot *p, tra_str *out) {
    static const unsigned bit[DOTS_DOWN][DOTS_ACROSS] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    for (int r = 0; r < p->rows; r += DOTS_DOWN) {
        tra_str_add(out, "  |");
        for (int c = 0; c < p->columns; c += DOTS_ACROSS) {
            unsigned dots = 0;
            for (int i = 0; i < DOTS_DOWN; i++)
                for (int k = 0; k < DOTS_ACROSS; k++) dots |= isfinite(cell(p, r + i, c + k)) ? bit[i][k] : 0;
            braille(dots, out);
        }
        tra_str_add(out, "|\n");
    }
}

enum { SHADES = 4 };
static const char *const shades[2][SHADES + 1] = {{" ", ".", ":", "+", "#"}, {" ", "░", "▒", "▓", "█"}};

/* The mean of the cells that a character stands for; those without a value count as 0 where that is what they are. */
static double mean_of(const tra_plot *p, int r, int c, int down, int across) {
    double sum = 0;
    int set = 0, all = 0;
    for (int i = r; i < r + down && i < p->rows; i++)
        for (int k = c; k < c + across && k < p->columns; k++) {
            double v = cell(p, i, k);
            all++;
            if (isfinite(v)) sum += v, set++;
        }
    return set == 0 ? NAN : sum / (p->logarithmic ? all : set);
}

/* What a character stands for, so that there are as many as fit. */
static void shrink(const tra_plot *p, tra_plot *small, double *value) {
    int down = p->rows > 8 ? DOTS_DOWN : 1, across = p->columns > 16 ? DOTS_ACROSS : 1;
    *small = *p;
    small->rows = (p->rows + down - 1) / down;
    small->columns = (p->columns + across - 1) / across;
    small->value = value;
    for (int r = 0; r < small->rows; r++)
        for (int c = 0; c < small->columns; c++)
            value[(int64_t)r * small->columns + c] = mean_of(p, r * down, c * across, down, across);
}

static int shade_of(const tra_plot *p, double v, double low, double high) {
    if (!isfinite(v)) return 0;
    return 1 + (int)tra_min64(SHADES - 1, (int64_t)(share_of(p, v, low, high) * SHADES));
}

static void shades_text(const tra_plot *p, bool utf8, tra_str *out) {
    tra_plot small;
    double low, high, *value = tra_calloc((size_t)p->rows * (size_t)p->columns + 1, sizeof *value);
    int64_t set;
    shrink(p, &small, value);
    range_of(&small, &low, &high, &set);
    for (int r = 0; r < small.rows; r++) {
        tra_str_add(out, "  |");
        for (int c = 0; c < small.columns; c++)
            tra_str_add(out, shades[utf8][shade_of(&small, cell(&small, r, c), low, high)]);
        tra_str_add(out, "|\n");
    }
    if (set > 0) {
        tra_str_printf(out, "  %s", p->what);
        for (int i = high > low ? 1 : SHADES; i <= SHADES; i++) tra_str_printf(out, " %s", shades[utf8][i]);
        tra_str_printf(out, high > low ? " %.3g to %.3g\n" : " %.3g\n", low, high);
    }
    free(value);
}

static void heat_text(const tra_plot *p, bool utf8, tra_str *out) {
    double low, high;
    int64_t set, cells = (int64_t)p->rows * p->columns;
    range_of(p, &low, &high, &set);
    if (set == 0 && p->logarithmic) {
        tra_str_add(out, "  no entries\n");
        return;
    }
    bool fine = p->rows > 8 && p->columns > 16; /* so fine that dots show more than shades, where most are empty */
    if (utf8 && fine && p->logarithmic && set <= cells / 2) {
        dots_text(p, out);
        tra_str_printf(out, high > low ? "  dots: entries, %s %.3g to %.3g\n" : "  dots: entries, %s %.3g\n", p->what,
                       low, high);
    } else {
        shades_text(p, utf8, out);
    }
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

void tra_plot_text(const tra_plot *p, tra_str *out) {
    bool utf8 = is_utf8();
    tra_str_printf(out, "%s\n", p->title);
    if (p->value)
        heat_text(p, utf8, out);
    else
        bars_text(p, tra_terminal_width(), utf8, out);
    if (p->note) tra_str_printf(out, "  %s\n", p->note);
}

void tra_plot_json(const tra_plot *p, tra_json *j) {
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "title", p->title);
    tra_json_str(j, "note", p->note);
    if (p->value) {
        tra_json_str(j, "kind", "heat");
        tra_json_str(j, "of", p->what);
        tra_json_ints(j, "shape", 2, p->shape);
        tra_json_begin(j, "cells", '[');
        for (int r = 0; r < p->rows; r++) {
            tra_json_begin(j, NULL, '[');
            for (int c = 0; c < p->columns; c++) tra_json_num(j, NULL, cell(p, r, c));
            tra_json_end(j, ']');
        }
        tra_json_end(j, ']');
    } else {
        tra_json_str(j, "kind", "bars");
        tra_json_begin(j, "labels", '[');
        for (int i = 0; i < p->n; i++) tra_json_str(j, NULL, p->label[i]);
        tra_json_end(j, ']');
        tra_json_ints(j, "counts", p->n, p->count);
    }
    tra_json_end(j, '}');
}

/* ---- SVG -------------------------------------------------------------------------------------------------------- */

enum { WIDE = 720, LINE = 18, LABEL = 280, NUMBER = 90, EDGE = 12 };

/* Text of SVG: no character that XML takes for its own, or does not have. */
static void add_text(tra_str *out, double x, double y, const char *anchor, const char *s) {
    tra_str_printf(out, "<text x=\"%.6g\" y=\"%.6g\" text-anchor=\"%s\">", x, y, anchor);
    char *shown = tra_printable(tra_asprintf("%s", s), false);
    for (const char *p = shown; *p; p++) {
        const char *as = *p == '&' ? "&amp;" : *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : NULL;
        if (as)
            tra_str_add(out, as);
        else
            tra_str_addn(out, p, 1);
    }
    free(shown);
    tra_str_add(out, "</text>\n");
}

static void add_box(tra_str *out, double x, double y, double w, double h) {
    tra_str_printf(out, "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\"/>\n", x, y, w, h);
}

enum { TONES = 16 };

/* From 1 to TONES; 0: nothing is there. */
static int tone_of(const tra_plot *p, int r, int c, double low, double high) {
    double v = cell(p, r, c);
    return isfinite(v) ? 1 + (int)tra_min64(TONES - 1, (int64_t)(share_of(p, v, low, high) * TONES)) : 0;
}

/* All cells of each tone are one path, in units of cells, and neighbours in a row one box of it. */
static void add_cells(const tra_plot *p, double x, double y, double side, double low, double high, tra_str *out) {
    tra_str_printf(out, "<g transform=\"translate(%.6g %.6g) scale(%.6g)\">\n", x, y, side);
    for (int tone = 1; tone <= TONES; tone++) {
        tra_str path = {0};
        for (int r = 0; r < p->rows; r++)
            for (int c = 0, n; c < p->columns; c += n) {
                for (n = 0; c + n < p->columns && tone_of(p, r, c + n, low, high) == tone;) n++;
                if (n) tra_str_printf(&path, "M%d %dh%dv1h-%dz", c, r, n, n);
                n += n == 0;
            }
        if (path.n)
            tra_str_printf(out, "<path fill-opacity=\"%.2f\" d=\"%s\"/>\n", 0.1 + 0.9 * (tone - 1) / (TONES - 1),
                           path.s);
        tra_str_free(&path);
    }
    tra_str_add(out, "</g>\n");
}

static double bars_svg(const tra_plot *p, double y, tra_str *out) {
    int64_t most = 1;
    for (int i = 0; i < p->n; i++) most = tra_max64(most, p->count[i]);
    for (int i = 0; i < p->n; i++, y += LINE) {
        char number[32];
        snprintf(number, sizeof number, "%" PRId64, p->count[i]);
        add_text(out, EDGE + LABEL, y + LINE - 5, "end", p->label[i]);
        add_text(out, EDGE + LABEL + NUMBER, y + LINE - 5, "end", number);
        double room = WIDE - 2 * EDGE - LABEL - NUMBER - 8;
        if (p->count[i]) add_box(out, EDGE + LABEL + NUMBER + 8, y + 3, room * p->count[i] / most, LINE - 6);
    }
    return y;
}

static double heat_svg(const tra_plot *p, double y, tra_str *out) {
    char text[128];
    double low, high, room = WIDE - 2 * EDGE, side = fmin(room / p->columns, fmax(4, room / p->rows));
    int64_t set;
    range_of(p, &low, &high, &set);
    tra_str_printf(out, "<rect x=\"%d\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" class=\"frame\"/>\n", EDGE, y,
                   side * p->columns, side * p->rows);
    add_cells(p, EDGE, y, side, low, high, out);
    y += side * p->rows + LINE;
    if (set == 0 && !p->logarithmic) return y;
    if (set == 0)
        snprintf(text, sizeof text, "no entries");
    else if (high > low)
        snprintf(text, sizeof text, "%s: %.3g to %.3g%s", p->what, low, high,
                 p->logarithmic ? ", by its logarithm" : "");
    else
        snprintf(text, sizeof text, "%s: %.3g", p->what, low);
    add_text(out, EDGE, y - 4, "start", text);
    return y + 4;
}

void tra_plots_svg(int n, const tra_plot *v, tra_str *out) {
    tra_str body = {0};
    double y = EDGE;
    for (int i = 0; i < n; i++) {
        add_text(&body, EDGE, y + LINE - 5, "start", v[i].title);
        y = v[i].value ? heat_svg(&v[i], y + LINE + 2, &body) : bars_svg(&v[i], y + LINE + 2, &body);
        if (v[i].note) add_text(&body, EDGE, y + LINE - 5, "start", v[i].note), y += LINE;
        y += LINE;
    }
    tra_str_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<style>text { fill: #222 } rect, path { fill: #0b62a4 } "
        ".frame { fill: none; stroke: #888 } @media (prefers-color-scheme: dark) { text { fill: #ddd } rect, "
        "path { fill: #6cb8f0 } .frame { fill: none } }</style>\n",
        WIDE, y, WIDE, y);
    tra_str_add(out, tra_str_get(&body));
    tra_str_add(out, "</svg>\n");
    tra_str_free(&body);
}
