/* lines.c - coordinate files of text, parsed by all threads. */
#include "lines_int.h"
#include "../lib/base/crew.h"
#include "../lib/h5/scales.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lines *lines_of(tra_source *s) { return s->lines; }

static int64_t entries_per_line(const tra_line_form *f) { return f->symmetry == TRA_GENERAL ? 1 : 2; }

/* Entries that so many bytes of text have at most. */
static int64_t most_of(const lines *l, int64_t bytes) {
    return (bytes / (2 * (l->rank ? l->rank : 1)) + 1) * entries_per_line(&l->form);
}

void tra_lines_begin(tra_source *s, const tra_line_form *form, int64_t done) {
    lines *l = tra_new(s->arena, lines);
    l->form = *form;
    l->cap = tra_max64(4 * LONGEST, tra_min64(s->o.memory / 64, 1536 << 10));
    l->line = done;
    l->source = s;
    l->copy = -1;
    l->rank = s->shape.n;
    l->rest = tra_arena_alloc(s->arena, LONGEST + 1);
    l->piece = tra_news(s->arena, piece, l->cap / PIECE + 1);
    for (int i = 0; i < 2; i++) l->stretch[i].text = tra_arena_alloc(s->arena, (size_t)l->cap + 1);
    s->lines = l;
    s->access = TRA_ACCESS_ENTRIES;
    s->entries = s->mirrored = 0;
    s->least_room = most_of(l, PIECE + LONGEST);
}

void tra_lines_close(tra_source *s) {
    lines *l = lines_of(s);
    if (!l) return;
    tra_crew_free(l->crew);
    if (l->copy >= 0) close(l->copy);
    for (int i = 0; i < l->nsets; i++) tra_string_set_free(&l->set[i]);
    free(l->place);
    free(l->where);
}

/* ---- stretches ------------------------------------------------------------------------------------------------- */

tra_status tra_lines_too_long(const lines *l, int64_t line, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " is too long for this format", l->source->spec, line);
}

static tra_status load_stretch(lines *l, stretch *t, tra_err *e) {
    t->loaded = true;
    t->n = l->nrest;
    memcpy(t->text, l->rest, (size_t)l->nrest);
    l->nrest = 0;
    while (t->n < l->cap && !l->ended) {
        size_t got;
        TRA_TRY(tra_stream_take_some(&l->source->in, t->text + t->n, (size_t)(l->cap - t->n), &got, e));
        l->ended = got == 0;
        if (l->copy >= 0) {
            TRA_TRY(tra_pwrite(l->copy, t->text + t->n, got, l->copied, l->where, e));
            l->copied += (int64_t)got;
        }
        t->n += (int64_t)got;
    }
    if (l->ended) {
        if (t->n > 0 && t->text[t->n - 1] != '\n') t->text[t->n++] = '\n'; /* there is room for it */
        return TRA_OK;
    }
    const char *end = memrchr(t->text, '\n', (size_t)t->n);
    int64_t whole = end ? end - t->text + 1 : 0, rest = t->n - whole;
    if (rest > LONGEST) {
        int64_t line = l->line + 1;
        for (const char *p = t->text; p < t->text + whole; p++) line += *p == '\n';
        for (int64_t i = 0; i < l->pieces; i++) line += l->piece[i].lines; /* of the one that is being parsed */
        return tra_lines_too_long(l, line, e);
    }
    t->n = whole;
    l->nrest = rest;
    memcpy(l->rest, t->text + whole, (size_t)rest);
    return TRA_OK;
}

/* Line ends, eight bytes at a time. */
static int64_t count_lines(const char *p, int64_t n) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ends = UINT64_C(0x0a0a0a0a0a0a0a0a);
    int64_t count = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x;
        memcpy(&x, p + i, 8);
        x ^= ends;
        count += 8 - __builtin_popcountll((((x & low) + low) | x) & ~low);
    }
    for (; i < n; i++) count += p[i] == '\n';
    return count;
}

static tra_status count_piece(lines *l, piece *p, int worker, tra_err *e) {
    (void)worker;
    (void)e;
    p->lines = count_lines(p->text, p->bytes);
    p->most = tra_min64(p->lines * entries_per_line(&l->form), most_of(l, p->bytes));
    return TRA_OK;
}

static tra_status work_on_group(void *ctx, int worker, int64_t item, tra_err *e) {
    lines *l = ctx;
    int64_t from = l->from + item * l->group, until = tra_min64(from + l->group, l->until);
    for (int64_t i = from; i < until; i++) TRA_TRY(l->work(l, &l->piece[i], worker, e));
    return TRA_OK;
}

/* The crew begins some pieces. */
static void start_crew(lines *l, int64_t from, int64_t until,
                       tra_status (*work)(lines *l, piece *p, int worker, tra_err *e)) {
    l->from = from;
    l->until = until;
    l->work = work;
    l->group = tra_ceil_div(until - from, GROUPS);
    tra_crew_begin(l->crew, work_on_group, l, 0, until > from ? tra_ceil_div(until - from, l->group) : 0);
}

/* Cuts the present stretch into pieces at line ends. */
static tra_status cut_into_pieces(lines *l, tra_err *e) {
    const stretch *t = &l->stretch[0];
    const char *from = t->text, *end = t->text + t->n;
    for (int64_t i = 0; i < l->pieces; i++) l->line += l->piece[i].lines;
    l->pieces = l->done = 0;
    while (from < end) {
        const char *to =
            end - from <= PIECE ? end : (const char *)memchr(from + PIECE, '\n', (size_t)(end - from) - PIECE) + 1;
        l->piece[l->pieces++] = (piece){.text = from, .bytes = to - from};
        from = to;
    }
    if (!l->crew) l->crew = tra_crew_new(tra_cores());
    start_crew(l, 0, l->pieces, count_piece);
    TRA_TRY(tra_crew_wait(l->crew, e));
    int64_t line = l->line + 1;
    for (int64_t i = 0; i < l->pieces; i++) {
        piece *p = &l->piece[i];
        p->first = line;
        line += p->lines;
        if (p->bytes > PIECE + LONGEST) return tra_lines_too_long(l, line - 1, e); /* it was cut behind this one */
    }
    return TRA_OK;
}

/* The next stretch becomes the present one. */
static tra_status next_stretch(lines *l, tra_err *e) {
    if (!l->stretch[1].loaded) TRA_TRY(load_stretch(l, &l->stretch[1], e));
    stretch t = l->stretch[0];
    l->stretch[0] = l->stretch[1];
    l->stretch[1] = t;
    l->stretch[1].loaded = false;
    return cut_into_pieces(l, e);
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

/* Consecutive pieces, from the first that is not handed out yet, as many as have room for their entries. */
static int64_t pieces_that_fit(lines *l, tra_item *to, int64_t room) {
    int64_t i = l->done;
    for (; i < l->pieces && l->piece[i].most <= room; i++) {
        l->piece[i].to = to;
        to += l->piece[i].most;
        room -= l->piece[i].most;
    }
    return i;
}

/* More entries than the file announces: which line has the first of them. */
static tra_status too_many(const lines *l, const piece *p, int64_t left, tra_err *e) {
    const char *s = p->text;
    for (;; s = strchr(s, '\n') + 1) {
        s = tra_lines_skip_blanks(s);
        if (!tra_lines_is_empty(l, s) && left-- == 0) break;
    }
    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 " goes on after the last of %" PRId64 " entries", l->source->spec,
                    tra_lines_line_at(p, s), l->form.count);
}

/* Moves together what the pieces have; the number of items. */
static tra_status collect_entries(lines *l, int64_t from, int64_t to, int64_t *got, tra_err *e) {
    tra_source *s = l->source;
    tra_item *at = l->piece[from].to;
    *got = 0;
    for (int64_t i = from; i < to; i++) {
        piece *p = &l->piece[i];
        int64_t n = p->entries + p->mirrored;
        if (l->form.count >= 0 && p->entries > l->form.count - l->taken)
            return too_many(l, p, l->form.count - l->taken, e);
        if (at != p->to) memmove(at, p->to, (size_t)n * sizeof *at);
        at += n;
        *got += n;
        l->taken += p->entries;
        s->entries += p->entries;
        s->mirrored += p->mirrored;
        s->inexact += p->inexact;
        s->overflow += p->overflow;
    }
    return TRA_OK;
}

tra_status tra_lines_entries(tra_source *s, const tra_places *places, tra_item *to, int64_t room, int64_t *got,
                             tra_err *e) {
    lines *l = lines_of(s);
    l->places = places;
    for (*got = 0; *got == 0;) { /* pieces of comments have none */
        if (l->done == l->pieces) TRA_TRY(next_stretch(l, e));
        if (l->pieces == 0) break;
        int64_t from = l->done, until = pieces_that_fit(l, to, room);
        assert(until > from);
        start_crew(l, from, until, tra_lines_parse_piece);
        tra_status read = l->stretch[1].loaded ? TRA_OK : load_stretch(l, &l->stretch[1], e);
        tra_err parsing = {0};
        tra_status parsed = tra_crew_wait(l->crew, &parsing);
        if (parsed != TRA_OK) { /* it comes first in the file */
            *e = parsing;
            return parsed;
        }
        if (read != TRA_OK) return read;
        TRA_TRY(collect_entries(l, from, until, got, e));
        l->done = until;
    }
    if (*got > 0 || l->form.count < 0 || l->taken == l->form.count) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: ends at line %" PRId64 " after %" PRId64 " of %" PRId64 " entries", s->spec,
                    l->line, l->taken, l->form.count);
}

void tra_lines_shape(tra_source *s) {
    lines *l = lines_of(s);
    l->rank = s->shape.n;
    s->least_room = most_of(l, PIECE + LONGEST);
}

/* ---- the survey ------------------------------------------------------------------------------------------------ */

/* Notes the names of a line. */
static tra_status survey_names(lines *l, piece *p, const char *s, int worker, tra_err *e) {
    tra_line_survey *f = &l->survey[worker];
    tra_string_set *set = &l->set[worker];
    const char *begin = s;
    bool numbers = true, fresh;
    for (int d = 0; d < l->rank; d++) {
        const char *end = tra_lines_word_end(s);
        int64_t any;
        if (end == s) return tra_lines_refuse_form(l, p, begin, e);
        numbers &= tra_scan_int(s, (size_t)(end - s), &any);
        tra_string_set_add(set, s, (size_t)(end - s), tra_string_set_hash(s, (size_t)(end - s)), &fresh);
        if (set->n > TRA_SCALE_LABELS)
            return tra_fail(e, TRA_INPUT, "%s: has more than %d names of vertices", l->source->spec, TRA_SCALE_LABELS);
        s = tra_lines_skip_blanks(end);
    }
    f->words += !numbers;
    f->count++;
    return TRA_OK;
}

static tra_status survey_piece(lines *l, piece *p, int worker, tra_err *e) {
    tra_line_survey *f = &l->survey[worker];
    for (const char *s = p->text, *end = s + p->bytes; s < end; s++) {
        const char *begin = s = tra_lines_skip_blanks(s);
        if (!tra_lines_is_empty(l, s) && l->nsets) {
            TRA_TRY(survey_names(l, p, s, worker, e));
            s = memchr(s, '\n', (size_t)(end - s));
        } else if (!tra_lines_is_empty(l, s)) {
            for (int d = 0; d < l->rank; d++) {
                int64_t v;
                if (!tra_lines_scan_index(&s, 0, &v)) return tra_lines_refuse_form(l, p, begin, e);
                if (v < l->form.base)
                    return tra_fail(e, TRA_INPUT,
                                    "%s: line %" PRId64 ": index %" PRId64 " is below the first one, %" PRId64 "%s",
                                    l->source->spec, tra_lines_line_at(p, begin), v, l->form.base,
                                    v == 0 ? " (--base 0 for files that count from 0)" : "");
                if (v - l->form.base == INT64_MAX)
                    return tra_fail(e, TRA_INPUT, "%s: line %" PRId64 ": index %" PRId64 " is beyond any extent",
                                    l->source->spec, tra_lines_line_at(p, begin), v);
                f->least[d] = tra_min64(f->least[d], v);
                f->most[d] = tra_max64(f->most[d], v);
            }
            f->count++;
            s = memchr(s, '\n', (size_t)(end - s));
        } else {
            TRA_TRY(tra_lines_skip_comment(l, p, &s, e));
        }
    }
    return TRA_OK;
}

/* Words of the first line that has an entry, up to a carriage return in it; 0 when the stretch has none. */
static int first_words(const lines *l) {
    const stretch *t = &l->stretch[0];
    for (const char *s = t->text, *end = s + t->n; s < end; s = (const char *)memchr(s, '\n', (size_t)(end - s)) + 1) {
        s = tra_lines_skip_blanks(s);
        if (tra_lines_is_empty(l, s)) continue;
        int n = 0;
        for (; *s != '\n' && *s != '\r'; s = tra_lines_skip_blanks(tra_lines_word_end(s))) n++;
        return n > 0 ? n : 1;
    }
    return 0;
}

/* Is a coordinate of the first entry no number? */
static bool begins_with_names(const lines *l) {
    const stretch *t = &l->stretch[0];
    for (const char *s = t->text, *end = s + t->n; s < end; s = (const char *)memchr(s, '\n', (size_t)(end - s)) + 1) {
        s = tra_lines_skip_blanks(s);
        if (tra_lines_is_empty(l, s)) continue;
        bool numbers = true;
        for (int d = 0; d < l->rank; d++) {
            const char *word = tra_lines_word_end(s);
            int64_t any;
            if (word == s) return false;
            numbers &= tra_scan_int(s, (size_t)(word - s), &any);
            s = tra_lines_skip_blanks(word);
        }
        return !numbers;
    }
    return false;
}

/* All names, in ascending order; for each number of l->set[0] its place in them. */
static tra_status order_names(lines *l, tra_line_survey *found, tra_err *e) {
    tra_string_set *all = &l->set[0];
    tra_source *s = l->source;
    bool fresh;
    if (found->words == 1 && found->count > 1 && !l->form.names)
        return tra_fail(e, TRA_INPUT,
                        "%s: the first entry alone has names, and all others numbers, as if it were a header: begin it "
                        "with #",
                        s->spec);
    for (int i = 1; i < l->nsets; i++) {
        const tra_string_set *w = &l->set[i];
        for (int64_t k = 0; k < w->n; k++) {
            const char *name = w->bytes + w->begin[k];
            size_t n = (size_t)(w->begin[k + 1] - w->begin[k]);
            tra_string_set_add(all, name, n, tra_string_set_hash(name, n), &fresh);
        }
        tra_string_set_free(&l->set[i]);
    }
    l->nsets = 1;
    int32_t *order = tra_string_set_order(all);
    const char **name = tra_news(s->arena, const char *, all->n + 1);
    l->place = tra_calloc((size_t)all->n + 1, sizeof *l->place);
    for (int64_t i = 0; i < all->n; i++) {
        const char *at = all->bytes + all->begin[order[i]];
        l->place[order[i]] = (int32_t)i;
        name[i] = tra_arena_strndup(s->arena, at, (size_t)(all->begin[order[i] + 1] - all->begin[order[i]]));
    }
    free(order);
    found->nnames = all->n;
    found->name = name;
    s->held += (size_t)(tra_string_set_bytes(all) + 4 * all->n);
    return TRA_OK;
}

bool tra_lines_scan_name(const lines *l, const char **s, int64_t *v) {
    const char *end = tra_lines_word_end(*s);
    size_t n = (size_t)(end - *s);
    int64_t number = n ? tra_string_set_find(&l->set[0], *s, n, tra_string_set_hash(*s, n)) : -1;
    if (number < 0) return false;
    *v = l->place[number];
    *s = tra_lines_skip_blanks(end);
    return true;
}

static tra_status find_rank(lines *l, tra_err *e) {
    int words = first_words(l);
    if (words == 1 || words > TRA_MAXRANK + 1)
        return tra_fail(e, TRA_INPUT, "%s: its first entry has %d words: 1 to %d indices and a value are expected",
                        l->source->spec, words, TRA_MAXRANK);
    if (words > 0) l->rank = words - 1;
    return TRA_OK;
}

/* Goes back to where the entries begin. */
static tra_status rewind_to_entries(lines *l, int64_t start, int64_t line, tra_err *e) {
    l->nrest = l->line = 0;
    l->ended = false;
    l->pieces = l->done = 0;
    l->stretch[0].loaded = l->stretch[1].loaded = false;
    l->line = line;
    if (l->copy < 0) return tra_stream_rewind(&l->source->in, start, e);
    int fd = l->copy;
    l->copy = -1; /* is the input's now */
    tra_stream_replace(&l->source->in, fd);
    return TRA_OK;
}

tra_status tra_lines_survey(tra_source *s, int rank, tra_line_survey *found, tra_err *e) {
    lines *l = lines_of(s);
    int64_t line = l->line, start = tra_stream_position(&s->in);
    int workers = tra_cores();
    bool first = true;
    l->rank = rank;
    l->survey = tra_news(s->arena, tra_line_survey, workers);
    for (int i = 0; i < workers; i++)
        for (int d = 0; d < TRA_MAXRANK; d++) l->survey[i].least[d] = INT64_MAX, l->survey[i].most[d] = INT64_MIN;
    if (!tra_stream_can_rewind(&s->in)) TRA_TRY(tra_scratch_open(s->o.scratch, &l->copy, &l->where, e));
    for (;;) {
        TRA_TRY(next_stretch(l, e));
        if (l->pieces == 0) break;
        if (l->rank == 0) TRA_TRY(find_rank(l, e));
        if (l->form.may_be_names && first) {
            if (l->form.names || begins_with_names(l)) l->set = tra_news(s->arena, tra_string_set, l->nsets = workers);
            first = first_words(l) == 0;
        }
        start_crew(l, 0, l->pieces, survey_piece);
        tra_status read = load_stretch(l, &l->stretch[1], e);
        TRA_TRY(tra_crew_wait(l->crew, e));
        TRA_TRY(read);
    }
    *found = l->survey[0];
    for (int i = 1; i < workers; i++) {
        const tra_line_survey *f = &l->survey[i];
        found->count += f->count;
        found->words += f->words;
        for (int d = 0; d < l->rank; d++) {
            found->least[d] = tra_min64(found->least[d], f->least[d]);
            found->most[d] = tra_max64(found->most[d], f->most[d]);
        }
    }
    found->rank = l->rank;
    found->nnames = -1;
    if (l->nsets) TRA_TRY(order_names(l, found, e));
    return rewind_to_entries(l, start, line, e);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

tra_status tra_put_line(tra_newfile *out, const tra_dims *at, int64_t base, tra_dtype t, const void *data, int64_t i,
                        tra_err *e) {
    TRA_TRY(tra_newfile_room(out, (size_t)at->n * 21 + TRA_NUMTEXT + 1, e));
    char *p = out->buf + out->len, *q = p;
    for (int d = 0; d < at->n; d++) {
        int64_t v = at->v[d] + base;
        q += tra_print_value(TRA_I64, &v, 0, q);
        *q++ = ' ';
    }
    q += tra_print_value(t, data, i, q);
    *q++ = '\n';
    out->len += (size_t)(q - p);
    out->bytes += q - p;
    return TRA_OK;
}
