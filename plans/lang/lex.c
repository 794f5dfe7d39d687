/* lex.c - from text to tokens. */
#include "lex.h"

#include "../../lib/calculus/calculus.h"

#include <string.h>

typedef struct lexer {
    const tra_script *src;
    const char *s;
    int n, at;
    tra_arena *arena;
    tra_diags *d;
    tra_token *v;
    int count, cap;
    int depth, open_cap;
    tra_token *open; /* brackets that are open */
    int indent;      /* of the line on which the statement began */
} lexer;

static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool tra_is_keyword(const char *s, int n, bool *later) {
    static const char *const words[] = {"input", "param", "output", "storage", "tensor",  "def", "repeat",
                                        "until", "state", "next",   "trace",   "require", "grad"};
    enum { KEPT_FOR_LATER = 12, NWORDS = sizeof words / sizeof *words };
    for (int i = 0; i < NWORDS; i++) {
        if ((int)strlen(words[i]) != n || memcmp(words[i], s, (size_t)n) != 0) continue;
        *later = i >= KEPT_FOR_LATER;
        return true;
    }
    return false;
}

static int indent_of(const lexer *x, int at) {
    int line = at;
    while (line > 0 && x->s[line - 1] != '\n') line--;
    int p = line;
    while (is_blank(x->s[p])) p++;
    return p - line;
}

static int last_kind(const lexer *x) { return x->count ? x->v[x->count - 1].kind : TRA_T_END; }

static void emit(lexer *x, int kind, int at, int len) {
    if (last_kind(x) == TRA_T_END) x->indent = indent_of(x, at);
    TRA_ARENA_ROOM(x->arena, x->v, x->count, x->cap);
    x->v[x->count++] = (tra_token){kind, {at, len}};
}

static void end_statement(lexer *x, int at, int len) {
    if (x->depth) { /* of several open brackets the outermost one gets the diagnostic */
        tra_diag_error(x->d, x->open[0].span, NULL, "this '%c' is not closed", x->open[0].kind);
        emit(x, TRA_T_BAD, at, 0); /* so that the parser says no more of this */
    }
    x->depth = 0;
    if (last_kind(x) != TRA_T_END) emit(x, TRA_T_END, at, len);
}

/* Does a statement that ends a line with this token go on in the next line? */
static bool goes_on_after(int kind) {
    switch (kind) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '^':
    case '<':
    case '>':
    case '.':
    case ',':
    case TRA_T_ARROW:
    case TRA_T_LE:
    case TRA_T_GE:
    case TRA_T_EQ:
    case TRA_T_NE:
    case TRA_T_AND:
    case TRA_T_OR: return true;
    default: return false;
    }
}

static int skip_blanks(const char *s, int p) {
    while (is_blank(s[p])) p++;
    return p;
}

static int skip_name(const char *s, int p) {
    while (is_alpha(s[p]) || is_digit(s[p])) p++;
    return p;
}

/* The place after "as name" or "as name(...)" at p of one line, and after the blanks that follow; p where there is
 * none. */
static int skip_storage(const char *s, int p) {
    if (s[p] != 'a' || s[p + 1] != 's' || !is_blank(s[p + 2])) return p;
    int q = skip_blanks(s, p + 2);
    if (!is_alpha(s[q])) return p;
    q = skip_blanks(s, skip_name(s, q));
    if (s[q] == '(') {
        while (s[q] && s[q] != '\n' && s[q] != ')') q++;
        if (s[q++] != ')') return p;
    }
    return skip_blanks(s, q);
}

/* Does the line at p begin with what can stand nowhere but at the beginning of a statement: "name =", "name[i,j] =",
 * "name[i,j] as csr =", or "input name"? */
static bool begins_statement(const lexer *x, int p) {
    const char *s = x->s;
    int name = p = skip_blanks(s, p);
    if (!is_alpha(s[p])) return false;
    p = skip_name(s, p);
    int len = p - name;
    bool blank = is_blank(s[p]), later;
    p = skip_blanks(s, p);
    if (tra_is_keyword(s + name, len, &later) && !later && blank && is_alpha(s[p])) return true;
    if (s[p] == '[') {
        do {
            p = skip_blanks(s, skip_name(s, skip_blanks(s, p + 1)));
        } while (s[p] == ',');
        if (s[p++] != ']') return false;
        p = skip_storage(s, skip_blanks(s, p));
    }
    return s[p] == '=' && s[p + 1] != '=';
}

/* May the line at p, which looks like a statement, go on with what is open in brackets? A named argument "name = x", or
 * a name such as that of a column "output desc", that is indented deeper than the statement. */
static bool is_argument(const lexer *x, int p) {
    int last = last_kind(x), name = skip_blanks(x->s, p), end = skip_name(x->s, name), after = skip_blanks(x->s, end);
    bool later, word = tra_is_keyword(x->s + name, end - name, &later) && x->s[after] != '=';
    if (x->depth == 0 || name - p <= x->indent) return false;
    if (word) return true;
    return (last == ',' || last == '(' || last == '[') && x->s[after] == '=';
}

static void lex_number(lexer *x) {
    const char *s = x->s;
    int p = x->at;
    while (is_digit(s[p])) p++;
    if (s[p] == '.') {
        p++;
        while (is_digit(s[p])) p++;
    }
    if (s[p] == 'e' || s[p] == 'E') {
        int q = p + 1;
        if (s[q] == '+' || s[q] == '-') q++;
        if (is_digit(s[q])) {
            p = q;
            while (is_digit(s[p])) p++;
        }
    }
    int end = p;
    while (is_alpha(s[end]) || is_digit(s[end])) end++;
    tra_span span = {x->at, end - x->at};
    if (end > p) {
        tra_diag_error(x->d, span, "numbers are written 3, 0.5 or 1e-3", "'%.*s' is not a number",
                       span.len > 40 ? 40 : span.len, s + span.at);
        emit(x, TRA_T_BAD, span.at, span.len);
    } else {
        emit(x, TRA_T_NUMBER, span.at, span.len);
    }
    x->at = end;
}

static void lex_string(lexer *x) {
    const char *s = x->s;
    int p = x->at + 1;
    bool bad = false;
    while (p < x->n && s[p] != '"' && s[p] != '\n') {
        if (s[p] == '\\' && s[p + 1] != '"' && s[p + 1] != '\\') {
            if (!bad)
                tra_diag_error(x->d, (tra_span){p, 2}, "write \\\\ for a backslash, \\\" for a quote",
                               "unknown escape in a string");
            bad = true;
        }
        p += s[p] == '\\' && s[p + 1] != '\n' && p + 1 < x->n ? 2 : 1;
    }
    if (p >= x->n || s[p] != '"') {
        tra_diag_error(x->d, (tra_span){x->at, 1}, "a string ends on its line with \"", "this string is not closed");
        bad = true;
    } else {
        p++;
    }
    emit(x, bad ? TRA_T_BAD : TRA_T_STRING, x->at, p - x->at);
    x->at = p;
}

static void lex_quoted(lexer *x) {
    const char *s = x->s;
    int p = x->at + 1;
    while (p < x->n && s[p] != '\n' && (s[p] != '`' || s[p + 1] == '`')) p += s[p] == '`' ? 2 : 1;
    bool closed = p < x->n && s[p] == '`';
    tra_span span = {x->at, closed ? p + 1 - x->at : 1};
    if (!closed)
        tra_diag_error(x->d, span, "a name in backquotes ends on its line: `Start Station ID`",
                       "this backquote is not closed");
    else if (span.len == 2)
        tra_diag_error(x->d, span, NULL, "a name is not empty");
    emit(x, closed && span.len > 2 ? TRA_T_QUOTED : TRA_T_BAD, x->at, closed ? span.len : p - x->at);
    x->at = closed ? p + 1 : p;
}

static void lex_bad(lexer *x) {
    const char *s = x->s;
    int p = x->at + 1;
    while (p < x->n && ((unsigned char)s[p] & 0xC0) == 0x80) p++;
    tra_span span = {x->at, p - x->at};
    unsigned char c = (unsigned char)s[x->at];
    const char *advice = c == '&'    ? "write && for 'and'"
                         : c == '|'  ? "write || for 'or'"
                         : c == '\'' ? "strings stand in double quotes, and a transpose is transpose(A)"
                         : c == '@'  ? "a product of matrices is C[i,k] = sum A[i,j] * B[j,k]"
                                     : NULL;
    if (last_kind(x) != TRA_T_BAD) {
        if (c < 32 || c == 127)
            tra_diag_error(x->d, span, advice, "a program has no control characters (byte 0x%02x)", c);
        else
            tra_diag_error(x->d, span, advice, "unexpected '%.*s'", span.len, s + span.at);
        emit(x, TRA_T_BAD, span.at, span.len);
    }
    x->at = p;
}

static void open_bracket(lexer *x, char c) {
    TRA_ARENA_ROOM(x->arena, x->open, x->depth, x->open_cap);
    x->open[x->depth++] = (tra_token){c, {x->at, 1}};
    emit(x, c, x->at++, 1);
}

static void close_bracket(lexer *x, char c) {
    char opener = c == ')' ? '(' : '[';
    if (x->depth && x->open[x->depth - 1].kind == opener) {
        x->depth--;
        emit(x, c, x->at++, 1);
        return;
    }
    if (last_kind(x) != TRA_T_BAD) {
        tra_diag_error(x->d, (tra_span){x->at, 1}, NULL, "this '%c' closes nothing", c);
        if (x->depth) tra_diag_also(x->d, x->open[x->depth - 1].span, "open here");
    }
    emit(x, TRA_T_BAD, x->at++, 1);
    if (x->depth) x->depth--; /* most likely the wrong kind was typed */
}

static void lex_operator(lexer *x) {
    static const struct {
        char text[3];
        int kind;
    } two[] = {{"->", TRA_T_ARROW}, {"<=", TRA_T_LE},  {">=", TRA_T_GE}, {"==", TRA_T_EQ},
               {"!=", TRA_T_NE},    {"&&", TRA_T_AND}, {"||", TRA_T_OR}};
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (strncmp(x->s + x->at, two[i].text, 2) == 0) {
            emit(x, two[i].kind, x->at, 2);
            x->at += 2;
            return;
        }
    if (strchr("+-*/%^<>!=,.:", x->s[x->at])) {
        emit(x, x->s[x->at], x->at, 1);
        x->at++;
    } else {
        lex_bad(x);
    }
}

/* Length of the UTF-8 character at s (n bytes left), 0 if malformed. */
static int utf8_char(const char *s, int n) {
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x80) return 1;
    int len = u[0] >= 0xC2 && u[0] < 0xE0 ? 2 : u[0] >= 0xE0 && u[0] < 0xF0 ? 3 : u[0] >= 0xF0 && u[0] < 0xF5 ? 4 : 0;
    if (len == 0 || len > n) return 0;
    for (int i = 1; i < len; i++)
        if ((u[i] & 0xC0) != 0x80) return 0;
    if ((u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) || (u[0] == 0xF0 && u[1] < 0x90) ||
        (u[0] == 0xF4 && u[1] > 0x8F))
        return 0;
    return len;
}

static bool check_utf8(lexer *x) {
    for (int i = 0, len; i < x->n; i += len) {
        len = x->s[i] ? utf8_char(x->s + i, x->n - i) : 0;
        if (len) continue;
        return tra_diag_error(x->d, (tra_span){i, 1}, NULL, "a program is UTF-8 text; byte 0x%02x is not",
                              (unsigned char)x->s[i]);
    }
    return true;
}

/* Is the word at p, of len bytes, storage or tensor before a name, where a statement begins? */
static bool begins_declaration(const lexer *x, int p, int len) {
    const char *word = x->s + p;
    bool is = len == 7 ? memcmp(word, "storage", 7) == 0 : len == 6 && memcmp(word, "tensor", 6) == 0;
    return is && x->depth == 0 && last_kind(x) == TRA_T_END && is_blank(word[len]) &&
           is_alpha(x->s[skip_blanks(x->s, p + len)]);
}

/* Makes one token of a storage or tensor statement, whose end only its own grammar knows. One that is wrong ends where
 * the next statement seems to begin. */
static void lex_declaration(lexer *x) {
    tra_arena *a = tra_arena_new();
    tra_calc_error err;
    int end;
    bool ok = x->s[x->at] == 's' ? tra_storage_parse(x->s, x->n, x->at, a, &end, &err) != NULL
                                 : tra_tensor_parse(x->s, x->n, x->at, a, &end, &err) != NULL;
    for (int p = x->at; !ok && p < end; p++)
        if (x->s[p] == '\n' && !is_blank(x->s[p + 1]) && begins_statement(x, p + 1)) end = p;
    emit(x, TRA_T_DECLARED, x->at, end - x->at);
    x->at = end;
    tra_arena_free(a);
}

tra_token *tra_lex(const tra_script *src, tra_arena *a, tra_diags *d, int *n) {
    lexer x = {.src = src, .s = src->text, .n = src->n, .arena = a, .d = d};
    if (!check_utf8(&x)) x.n = 0; /* other diagnostics would be of no use */
    if (x.n >= 3 && memcmp(x.s, "\xEF\xBB\xBF", 3) == 0) x.at = 3;
    while (x.at < x.n) {
        char c = x.s[x.at];
        if (c == '\n') {
            bool inside = x.depth > 0 || goes_on_after(last_kind(&x));
            if (!inside || (begins_statement(&x, x.at + 1) && !is_argument(&x, x.at + 1))) end_statement(&x, x.at, 1);
            x.at++;
        } else if (c == ';') {
            end_statement(&x, x.at, 1);
            x.at++;
        } else if (is_blank(c)) {
            x.at++;
        } else if (c == '#') {
            while (x.at < x.n && x.s[x.at] != '\n') x.at++;
        } else if (is_alpha(c)) {
            int p = skip_name(x.s, x.at);
            if (begins_declaration(&x, x.at, p - x.at)) {
                lex_declaration(&x);
                continue;
            }
            emit(&x, TRA_T_NAME, x.at, p - x.at);
            x.at = p;
        } else if (is_digit(c) || (c == '.' && is_digit(x.s[x.at + 1]))) {
            lex_number(&x);
        } else if (c == '"') {
            lex_string(&x);
        } else if (c == '`') {
            lex_quoted(&x);
        } else if (c == '(' || c == '[') {
            open_bracket(&x, c);
        } else if (c == ')' || c == ']') {
            close_bracket(&x, c);
        } else if (c == '{') {
            emit(&x, c, x.at++, 1);
        } else if (c == '}') {
            end_statement(&x, x.at, 0);
            emit(&x, c, x.at++, 1);
        } else if ((unsigned char)c < 32 || (unsigned char)c >= 127) {
            lex_bad(&x);
        } else {
            lex_operator(&x);
        }
    }
    end_statement(&x, x.n, 0);
    emit(&x, TRA_T_EOF, x.n, 0);
    *n = x.count;
    return x.v;
}
