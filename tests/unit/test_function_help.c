/* The table of what there is to say of each function: it has every function of the language, where that stands. */
#include "check.h"

#include "../../lib/kernel/kernel.h"
#include "../../lib/table/window.h"
#include "../../plans/tra/function_help.h"
#include "../../plans/tra/build.h"
#include "../../plans/tra/lower.h"
#include "../../plans/tra/table_derived.h"
#include "../../plans/tra/table_parts.h"

static void has(const char *name, unsigned in) {
    const tra_function_help *v;
    int n = tra_function_helps(&v);
    for (int i = 0; i < n; i++)
        if ((v[i].in & in) == in && strcmp(v[i].name, name) == 0) return;
    check_report("plans/tra/function_help.c does not have %s, in %u", name, in);
}

TEST(each_function_has_a_row) {
    static const char *const aggregates[] = {
#define X(name, text, ...) text,
        TRA_AGGREGATES(X)
#undef X
    };
    const char *name;
    for (int i = 0; (name = tra_colop_function(i)); i++) has(name, TRA_IN_TABLES);
    for (int i = 0; (name = tra_table_duration(i)); i++) has(name, TRA_IN_TABLES);
    for (int i = 0; (name = tra_scalar_function(i)); i++) has(name, TRA_IN_TENSORS);
    for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++) has(aggregates[i], TRA_IN_GROUPS);
    for (int i = 0; (name = tra_window_name(i)); i++) has(name, TRA_IN_WINDOWS);
    for (int i = 0; (name = tra_composed_aggregate(i)); i++) has(name, TRA_IN_GROUPS);
    for (int i = 0; (name = tra_aggregation_name(i)); i++) has(name, TRA_IN_SUMS);
}

TEST(each_row_is_of_a_function) {
    const tra_function_help *v;
    int n = tra_function_helps(&v);
    for (int i = 0; i < n; i++) {
        if (v[i].in & TRA_IN_SUMS && !tra_is_aggregation(v[i].name)) check_report("%s is no aggregation", v[i].name);
        bool group = tra_aggregate_find(v[i].name) >= 0 || tra_is_composed_aggregate(v[i].name);
        if (v[i].in & TRA_IN_GROUPS && !group) check_report("%s is no aggregate", v[i].name);
        if (strncmp(v[i].signature, v[i].name, strlen(v[i].name)) != 0 && strcmp(v[i].name, "div") != 0)
            check_report("%s does not begin with %s", v[i].signature, v[i].name);
        CHECK(v[i].says[0] && (!v[i].example[0]) == (!v[i].gives[0]));
    }
}

TEST(each_operator_has_a_row) {
    const char *name;
#define EACH(list)                                                                                                     \
    for (int i = 0; (name = list(i)); i++)                                                                             \
        if (!tra_operator_help_find(name, 0)) check_report("plans/tra/operator_help.c does not have %s", name);
    EACH(tra_whole_name)
    EACH(tra_slice_name)
    EACH(tra_linear_name)
    EACH(tra_table_op_name)
    EACH(tra_table_derived_name)
    EACH(tra_form_name)
#undef EACH
}
