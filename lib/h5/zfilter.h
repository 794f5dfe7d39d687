/* zfilter.h - zstd as an HDF5 filter (registered id 32015), as the library calls it.
 *
 * zfilter.c calls no function of HDF5 and uses plain malloc, so that the same file can be part of tra and of the plugin
 * that other programs load (plugin/h5zzstd.c), whichever HDF5 they are linked to.
 */
#ifndef TRA_ZFILTER_H
#define TRA_ZFILTER_H

#include <hdf5.h>

enum { TRA_ZSTD_FILTER = 32015 };
extern const H5Z_class2_t tra_zstd_class;

#endif
