/* The version of the API.
 *
 * Part of Visus, which provides libvmaf's C API (version 3). */
#ifndef VISUS_LIBVMAF_VERSION_H
#define VISUS_LIBVMAF_VERSION_H

#define VMAF_API_VERSION_MAJOR 3
#define VMAF_API_VERSION_MINOR 2
#define VMAF_API_VERSION_PATCH 0

#endif
