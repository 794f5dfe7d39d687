/* lex.c - from text to tokens, one at a time, and the errors of parsers. */
#include "calc_parse.h"

#include <string.h>

static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool calc_error(tra_calc_error *err, int at, int len, const char *advice, const char *fmt, ...) {
    va_list ap;
    *err = (tra_calc_error){.at = at, .len = len};
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    snprintf(err->advice, sizeof err->advice, "%s", advice ? advice : "");
    return false;
}

bool calc_fail(calc_parser *p, int at, int len, const char *advice, const char *fmt, ...) {
    char msg[480];
    va_list ap;
    if (p->failed) return false;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    p->failed = true;
    p->tok.kind = CALC_T_BAD;
    return calc_error(p->err, at, len, advice, "%s", msg);
}

bool calc_unexpected(calc_parser *p, const char *advice, const char *wanted) {
    if (p->tok.kind == CALC_T_EOF)
        return calc_fail(p, p->tok.at, 0, advice, "%s expected, but the text ends here", wanted);
    return calc_fail(p, p->tok.at, p->tok.len, advice, "%s expected, not '%.*s'", wanted,
                     p->tok.len > 40 ? 40 : p->tok.len, p->text + p->tok.at);
}

/* The byte at i, 0 past the end. */
static char byte_at(const calc_parser *p, int i) { return i < p->n ? p->text[i] : 0; }

static int number_end(const calc_parser *p, int i) {
    while (is_digit(byte_at(p, i))) i++;
    if (byte_at(p, i) == '.') {
        i++;
        while (is_digit(byte_at(p, i))) i++;
    }
    if (byte_at(p, i) == 'e' || byte_at(p, i) == 'E') {
        int j = i + 1;
        if (byte_at(p, j) == '+' || byte_at(p, j) == '-') j++;
        if (is_digit(byte_at(p, j))) {
            i = j;
            while (is_digit(byte_at(p, i))) i++;
        }
    }
    return i;
}

static int skip_blanks(calc_parser *p, bool *line) {
    int i = p->next;
    for (char c; i < p->n; i++) {
        c = p->text[i];
        if (c == '#')
            while (i + 1 < p->n && p->text[i + 1] != '\n') i++;
        else if (c == '\n')
            *line = true;
        else if (c != ' ' && c != '\t' && c != '\r')
            break;
    }
    return i;
}

static void next_operator(calc_parser *p) {
    static const struct {
        char text[4];
        int kind;
    } long_ones[] = {{"...", CALC_T_DOTS}, {"->", CALC_T_ARROW}, {"<=", CALC_T_LE},  {">=", CALC_T_GE},
                     {"==", CALC_T_EQ},    {"!=", CALC_T_NE},    {"&&", CALC_T_AND}, {"||", CALC_T_OR}};
    int at = p->tok.at;
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        int len = (int)strlen(long_ones[i].text);
        if (at + len > p->n || memcmp(p->text + at, long_ones[i].text, (size_t)len) != 0) continue;
        p->tok.kind = long_ones[i].kind;
        p->tok.len = len;
        return;
    }
    unsigned char c = (unsigned char)p->text[at];
    p->tok.len = 1;
    if (c && strchr("+-*/%<>!=,.:;()[]{}@", c)) {
        p->tok.kind = c;
        return;
    }
    p->tok.kind = CALC_T_BAD;
    if (calc_line_ends(p)) return; /* of the next statement, most likely */
    while (at + p->tok.len < p->n && ((unsigned char)p->text[at + p->tok.len] & 0xC0) == 0x80) p->tok.len++;
    if (c < 32 || c == 127)
        calc_fail(p, at, 1, NULL, "a program has no control characters (byte 0x%02x)", c);
    else
        calc_fail(p, at, p->tok.len, c == '^' ? "write x*x, or exp(y * log(x))" : NULL, "unexpected '%.*s'", p->tok.len,
                  p->text + at);
}

void calc_next(calc_parser *p) {
    bool line = false;
    if (p->failed) return;
    p->before = p->tok.at + p->tok.len;
    int at = skip_blanks(p, &line), end = at;
    p->tok = (calc_token){CALC_T_EOF, at, 0, line, p->open};
    if (at >= p->n) {
        p->next = at;
        return;
    }
    char c = p->text[at];
    if (is_alpha(c)) {
        while (is_alpha(byte_at(p, end)) || is_digit(byte_at(p, end))) end++;
        p->tok.kind = CALC_T_NAME;
        p->tok.len = end - at;
    } else if (is_digit(c) || (c == '.' && is_digit(byte_at(p, at + 1)))) {
        int stop = end = number_end(p, at);
        while (is_alpha(byte_at(p, stop)) || is_digit(byte_at(p, stop))) stop++;
        p->tok.kind = CALC_T_NUMBER;
        p->tok.len = end - at;
        if (stop > end && calc_line_ends(p))
            p->tok.kind = CALC_T_BAD;
        else if (stop > end)
            calc_fail(p, at, stop - at, "numbers are written 3, 0.5 or 1e-3", "'%.*s' is not a number",
                      stop - at > 40 ? 40 : stop - at, p->text + at);
    } else {
        next_operator(p);
        if (c == '(' || c == '[' || c == '{') p->open++;
        if (c == ')' || c == ']' || c == '}') p->open--;
    }
    p->next = at + p->tok.len;
}

void calc_start(calc_parser *p, const char *text, int n, int at, tra_arena *a, tra_calc_error *err) {
    *p = (calc_parser){.text = text, .n = n, .next = at, .arena = a, .err = err};
    *err = (tra_calc_error){.at = at};
    calc_next(p);
}

bool calc_at_word(const calc_parser *p, const char *word) {
    return p->tok.kind == CALC_T_NAME && p->tok.len == (int)strlen(word) &&
           memcmp(p->text + p->tok.at, word, (size_t)p->tok.len) == 0;
}

bool calc_accept(calc_parser *p, int kind) {
    if (p->tok.kind != kind) return false;
    calc_next(p);
    return !p->failed;
}

bool calc_accept_word(calc_parser *p, const char *word) {
    if (!calc_at_word(p, word)) return false;
    calc_next(p);
    return !p->failed;
}

bool calc_expect(calc_parser *p, int kind, const char *wanted) {
    if (p->tok.kind != kind) return calc_unexpected(p, NULL, wanted);
    calc_next(p);
    return !p->failed;
}

const char *calc_token_text(calc_parser *p) {
    return tra_arena_strndup(p->arena, p->text + p->tok.at, (size_t)p->tok.len);
}

bool calc_is_reserved(const char *s, int n) {
    static const char *const words[] = {"sum", "let", "in", "if", "then", "merge"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if ((int)strlen(words[i]) == n && memcmp(words[i], s, (size_t)n) == 0) return true;
    return false;
}

bool calc_line_ends(const calc_parser *p) { return p->lines && p->tok.depth == 0 && p->tok.line; }

void calc_list_add(tra_arena *a, calc_list *l, void *x) {
    TRA_ARENA_ROOM(a, l->v, l->n, l->cap);
    l->v[l->n++] = x;
}
