/* library.h - the files of share/storage, by name without .tra, in the order of the alphabet; a NULL name ends. Made by
 * the Makefile. Private to the room. */
#ifndef TRA_CALC_LIBRARY_H
#define TRA_CALC_LIBRARY_H

typedef struct tra_library_file {
    const char *name, *text;
} tra_library_file;
extern const tra_library_file tra_library_files[];

#endif
