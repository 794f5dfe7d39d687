/* file.c - opening a relation: which object of which file it is, and of which kind. */
#include "store_int.h"
#include "../tablefile/table_file.h"
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 16 }; /* more files in a row are a circle */

void tra_relspec(tra_arena *a, const char *spec, const char **path, const char **name) {
    const char *colon = strrchr(spec, ':'), *two = strstr(spec, "::");
    struct stat st;
    *path = tra_arena_strndup(a, spec, strlen(spec));
    *name = NULL;
    if (two && two > spec && two[2]) colon = two; /* what follows "::" is the name, colons included */
    const char *after = colon ? colon + (colon == two ? 2 : 1) : "";
    if (!colon || colon == spec || !*after || lstat(spec, &st) == 0) return;
    const char *before = tra_arena_strndup(a, spec, (size_t)(colon - spec));
    if (stat(before, &st) == 0 && S_ISDIR(st.st_mode)) return;
    *path = before;
    *name = tra_arena_strndup(a, after, strlen(after));
}

size_t tra_relspec_raw(const char *spec) {
    static const char prefix[] = "raw:";
    struct stat st;
    size_t n = strlen(prefix);
    if (strncmp(spec, prefix, n) != 0 || !spec[n] || lstat(spec, &st) == 0 || lstat("raw", &st) == 0) return 0;
    return n;
}

/* ---- which dataset --------------------------------------------------------------------------------------------- */

static tra_status open_file(tra_rel *r, tra_err *e) {
    tra_vfd_alone = r->virtual;
    tra_status s = tra_h5_open(r->path, &r->file, e);
    tra_vfd_alone = false;
    TRA_TRY(s);
    r->vfd = tra_vfd_of(r->file);
    return r->vfd ? TRA_OK : tra_fail(e, TRA_INTERNAL, "%s was opened by another driver", r->path);
}

enum { MAX_NAMES = 12 }; /* in a message */

/* The names as text; "..." after MAX_NAMES of them. */
static const char *enumerate(tra_rel *r, const tra_relation_names *list) {
    const char *text = "";
    for (int i = 0; i < list->n; i++) {
        bool more = i == MAX_NAMES - 1;
        text = tra_arena_printf(r->arena, "%s%s%s", text, i ? ", " : "", more ? "..." : list->name[i]);
    }
    return text;
}

/* What a file without a relation's name stands for, if it also holds the two others: of AnnData and loom the matrix. */
static const char *const mains[][3] = {{"data", NULL, NULL}, {"X", "obs", "var"}, {"matrix", "row_attrs", "col_attrs"}};

/* A variable of GNU Octave is a group, in which `value` has its elements. False: it is none. */
static bool of_octave(tra_rel *r, hid_t *obj) {
    if (H5Iget_type(*obj) != H5I_GROUP || H5Aexists(*obj, "OCTAVE_NEW_FORMAT") <= 0 || !tra_h5_exists(*obj, "value"))
        return false;
    hid_t value = H5Oopen(*obj, "value", H5P_DEFAULT);
    H5Oclose(*obj);
    *obj = value;
    r->name = tra_arena_printf(r->arena, "%s/value", r->name);
    return value >= 0 && H5Iget_type(value) == H5I_DATASET && !r->raw;
}

static tra_status open_object(tra_rel *r, const char **elsewhere, tra_err *e) {
    tra_relation_names list;
    *elsewhere = NULL;
    for (size_t i = 0; i < sizeof mains / sizeof *mains && !r->name; i++)
        if (tra_h5_exists(r->file, mains[i][0]) && (!mains[i][1] || tra_h5_exists(r->file, mains[i][1])) &&
            (!mains[i][2] || tra_h5_exists(r->file, mains[i][2])))
            r->name = mains[i][0];
    if (!r->name) {
        tra_h5_names(r->file, r->arena, MAX_NAMES, &list);
        if (list.n == 0)
            return tra_fail(
                e, TRA_INPUT,
                "%s holds no relation: no dataset of floats, integers or booleans, no table, and no sparse tensor",
                r->path);
        if (list.n > 1)
            return tra_fail(e, TRA_INPUT, "%s holds several relations: %s; name one as in %s%s%s", r->path,
                            enumerate(r, &list), r->path, strchr(list.name[0], ':') ? "::" : ":", list.name[0]);
        r->name = list.name[0];
    }
    if (!tra_h5_follow(r->file, r->path, &r->name, elsewhere, r->arena))
        return TRA_REL_BAD(r, e, "%s", "its links go round in a circle");
    if (*elsewhere) return TRA_OK;
    if (strcmp(r->name, "/") != 0 && !tra_h5_exists(r->file, r->name)) {
        tra_h5_names(r->file, r->arena, MAX_NAMES, &list);
        return tra_fail(e, TRA_INPUT, "%s has no dataset %s%s%s", r->path, r->name, list.n ? "; it holds " : "",
                        enumerate(r, &list));
    }
    hid_t obj = H5Oopen(r->file, r->name, H5P_DEFAULT);
    bool turned = obj >= 0 && of_octave(r, &obj);
    if (obj < 0) return tra_h5_fail(e, TRA_INPUT, NULL, "%s:%s is damaged", r->path, r->name);
    r->kind = tra_kind_of(obj);
    if (!r->kind) {
        H5Oclose(obj);
        return TRA_REL_BAD(r, e, "%s",
                           "it is neither a dataset nor a table nor a sparse tensor (binsparse, AnnData, 10x)");
    }
    r->dset = obj;
    if (r->kind->begin) r->kind->begin(r);
    r->turned = turned || (!r->raw && H5Iget_type(obj) == H5I_DATASET && H5Aexists(obj, "MATLAB_class") > 0);
    hid_t file = H5Iget_file_id(obj);
    bool here = tra_vfd_of(file) == r->vfd;
    H5Fclose(file);
    return here ? TRA_OK : TRA_REL_BAD(r, e, "%s", "it is a link to another file; name the relation there");
}

static tra_status open_relation(tra_rel *r, const tra_dims *block, const char **elsewhere, tra_err *e) {
    TRA_TRY(open_file(r, e));
    TRA_TRY(open_object(r, elsewhere, e));
    return *elsewhere ? TRA_OK : r->kind->open(r, block, e);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

tra_status tra_rel_open_bare(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e) {
    tra_arena *a = tra_arena_new();
    tra_rel *r = tra_new(a, tra_rel);
    *out = NULL;
    r->arena = a;
    r->kind = &tra_kind_chunks; /* until its object is open */
    r->file = r->dset = r->direct_fd = r->outside = -1;
    tra_status s;
    if (tra_rel_is_made(spec)) {
        s = tra_made_open(r, spec, e);
        if (s == TRA_OK)
            *out = r;
        else
            tra_rel_close(r);
        return s;
    }
    if (tra_file_hooks_set && (s = tra_file_hooks_set->input(spec, &r->stand_in, e)) != TRA_OK) {
        tra_rel_close(r);
        return s;
    }
    if (r->stand_in.path) spec = r->stand_in.path;
    r->raw = tra_relspec_raw(spec) > 0;
    tra_relspec(a, spec + tra_relspec_raw(spec), &r->path, &r->name);
    const char *elsewhere;
    int files = 0;
    do {
        elsewhere = NULL;
        s = tra_commit_settle(r->path, e);
        if (s != TRA_OK) break;
        tra_h5_enter();
        s = open_relation(r, block, &elsewhere, e);
        if (s == TRA_OK && r->virtual && !r->vfd->alone) { /* which is known only now */
            H5Oclose(r->dset);
            H5Fclose(r->file);
            r->file = r->dset = -1;
            s = open_relation(r, block, &elsewhere, e);
        }
        if (elsewhere) { /* that file may have links too */
            H5Fclose(r->file);
            r->file = -1;
            r->vfd = NULL;
            r->path = elsewhere;
            if (++files > MAX_FILES) s = TRA_REL_BAD(r, e, "%s", "its links go round in a circle of files");
        }
        tra_h5_leave();
    } while (s == TRA_OK && elsewhere);
    if (s != TRA_OK)
        tra_rel_close(r);
    else
        *out = r;
    return s;
}

tra_status tra_rel_open(const char *spec, const tra_dims *block, tra_rel **out, tra_err *e) {
    TRA_TRY(tra_rel_open_bare(spec, block, out, e));
    tra_status s = tra_rel_read_strings(*out, e);
    if (s == TRA_OK) return s;
    tra_rel_close(*out);
    *out = NULL;
    return s;
}

void tra_rel_close(tra_rel *r) {
    if (!r) return;
    tra_h5_enter();
    if (r->kind && r->kind->close) r->kind->close(r);
    if (r->dset >= 0) H5Oclose(r->dset);
    if (r->file >= 0) H5Fclose(r->file);
    tra_h5_leave();
    if (r->direct_fd >= 0) close(r->direct_fd);
    if (r->outside >= 0) close(r->outside);
    free(r->chunks);
    free(r->sums);
    free(r->checked);
    tra_arena_free(r->arena);
}
