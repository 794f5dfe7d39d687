/* json.c - writing JSON, and looking up single values in JSON. */
#include "base.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------------------------ */

int tra_utf8(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] > 0x9f, beyond = s[0] == 0xf4 && s[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : n;
}

static void quote(tra_str *out, const char *text) {
    tra_str_addn(out, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = tra_utf8(s);
        if (n == 0) {
            tra_str_add(out, "\\ufffd");
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            tra_str_printf(out, "\\%c", *s);
        } else if (*s == '\n') {
            tra_str_add(out, "\\n");
        } else if (*s == '\t') {
            tra_str_add(out, "\\t");
        } else if (*s < 0x20 || *s == 0x7f) {
            tra_str_printf(out, "\\u%04x", *s);
        } else {
            tra_str_addn(out, (const char *)s, (size_t)n);
        }
        s += n;
    }
    tra_str_addn(out, "\"", 1);
}

/* The comma before a value, and its key. */
static void lead(tra_json *j, const char *key) {
    if (j->depth) {
        if (!j->first[j->depth]) tra_str_add(&j->out, ", ");
        j->first[j->depth] = false;
    }
    if (key) {
        quote(&j->out, key);
        tra_str_add(&j->out, ": ");
    }
}

void tra_json_begin(tra_json *j, const char *key, char bracket) {
    assert(bracket == '{' || bracket == '[');
    lead(j, key);
    tra_str_addn(&j->out, &bracket, 1);
    j->depth++;
    assert(j->depth < (int)(sizeof j->first / sizeof *j->first));
    j->first[j->depth] = true;
}

void tra_json_end(tra_json *j, char bracket) {
    assert((bracket == '}' || bracket == ']') && j->depth > 0);
    j->depth--;
    tra_str_addn(&j->out, &bracket, 1);
}

void tra_json_str(tra_json *j, const char *key, const char *v) {
    lead(j, key);
    if (v) {
        quote(&j->out, v);
    } else {
        tra_str_add(&j->out, "null");
    }
}

void tra_json_int(tra_json *j, const char *key, int64_t v) {
    lead(j, key);
    tra_str_printf(&j->out, "%" PRId64, v);
}

void tra_json_num(tra_json *j, const char *key, double v) {
    lead(j, key);
    if (isfinite(v)) {
        char text[32];
        tra_str_add(&j->out, tra_exactly(v, text));
    } else {
        tra_str_add(&j->out, "null");
    }
}

void tra_json_bool(tra_json *j, const char *key, bool v) {
    lead(j, key);
    tra_str_add(&j->out, v ? "true" : "false");
}

void tra_json_ints(tra_json *j, const char *key, int n, const int64_t *v) {
    tra_json_begin(j, key, '[');
    for (int i = 0; i < n; i++) tra_json_int(j, NULL, v[i]);
    tra_json_end(j, ']');
}

void tra_json_free(tra_json *j) { tra_str_free(&j->out); }

/* ---- reading ------------------------------------------------------------------------------------------------ */

enum { MAX_DEPTH = 200 };

static const char *blank(const char *p) { return p + strspn(p, " \t\r\n"); }

/* End of the string that begins at p (a quote), or NULL. */
static const char *end_of_string(const char *p) {
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && !*++p) return NULL;
    }
    return *p ? p + 1 : NULL;
}

/* Walks the value at p. In a container *found becomes the member called name (in an array: of that index), when there
 * is one. Returns the end of the value, or NULL when it is malformed. */
static const char *walk(const char *p, int depth, const char *name, size_t namelen, const char **found) {
    p = blank(p);
    if (*p == '"') return end_of_string(p);
    if (*p != '{' && *p != '[') {
        size_t n = strcspn(p, " \t\r\n,:[]{}\"");
        return n ? p + n : NULL;
    }
    if (depth >= MAX_DEPTH) return NULL;
    char close = *p == '{' ? '}' : ']';
    int64_t wanted = -1;
    if (name && close == ']') {
        char digits[20];
        if (namelen >= sizeof digits) return NULL;
        memcpy(digits, name, namelen);
        digits[namelen] = 0;
        if (!tra_parse_int(digits, &wanted)) return NULL;
    }
    p = blank(p + 1);
    if (*p == close) return p + 1;
    for (int64_t i = 0;; i++) {
        bool hit = close == ']' && name && i == wanted;
        if (close == '}') {
            p = blank(p);
            const char *key = p;
            if (*p != '"' || !(p = end_of_string(p))) return NULL;
            hit = name && (size_t)(p - key) == namelen + 2 && memcmp(key + 1, name, namelen) == 0;
            p = blank(p);
            if (*p++ != ':') return NULL;
        }
        p = blank(p);
        if (hit && !*found) *found = p;
        if (!(p = walk(p, depth + 1, NULL, 0, NULL))) return NULL;
        p = blank(p);
        if (*p == close) return p + 1;
        if (*p++ != ',') return NULL;
    }
}

const char *tra_json_find(const char *s, const char *path, size_t *len) {
    const char *p = blank(s);
    while (*path) {
        size_t n = strcspn(path, ".");
        const char *found = NULL;
        if (!walk(p, 0, path, n, &found) || !found) return NULL;
        p = found;
        path += n;
        if (*path == '.') path++;
    }
    const char *end = walk(p, 0, NULL, 0, NULL);
    if (!end) return NULL;
    *len = (size_t)(end - p);
    return p;
}
