/* layout.c - the layouts of rows and of what is made of them. */
#include "table.h"

const tra_layout tra_columns = {
    .name = "columns", .id = 2, .nparts = 2, .bytes = tra_columns_bytes, .look = tra_columns_look};

const tra_layout tra_counted = {
    .name = "counted", .id = 3, .nparts = 2, .bytes = tra_counted_bytes, .look = tra_counted_look};
