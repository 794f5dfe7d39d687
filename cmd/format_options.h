/* format_options.h - the options of formats on the command line. */
#ifndef TRA_FORMAT_OPTIONS_H
#define TRA_FORMAT_OPTIONS_H

#include "cmd.h"

#include "../formats/reading.h"

/* What the command line says; commands with TRA_TAKES_READING and TRA_TAKES_WRITING have these. */
extern tra_reading tra_reading_opts;
extern tra_writing tra_writing_opts;

#endif
