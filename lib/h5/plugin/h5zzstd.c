/* h5zzstd.c - the HDF5 plugin that lets other programs read zstd relations. Built with ../zfilter.c, and not linked to
 * any libhdf5: it works with whichever the program has loaded. */
#include "../zfilter.h"

#include <H5PLextern.h>

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &tra_zstd_class; }
