/* Pictures: planar 8- to 16-bit samples in memory of the library.
 *
 * Part of Visus, which provides libvmaf's C API (version 3). */
#ifndef VISUS_LIBVMAF_PICTURE_H
#define VISUS_LIBVMAF_PICTURE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum VmafPixelFormat {
    VMAF_PIX_FMT_UNKNOWN = 0,
    VMAF_PIX_FMT_YUV420P = 1,
    VMAF_PIX_FMT_YUV422P = 2,
    VMAF_PIX_FMT_YUV444P = 3,
    VMAF_PIX_FMT_YUV400P = 4
};

typedef struct VmafRef VmafRef;

/* One byte per sample at 8 bits, two in the machine's order above. Strides are in bytes. Write the samples through
 * `data`; leave everything else as it is. */
typedef struct VmafPicture {
    enum VmafPixelFormat pix_fmt;
    unsigned bpc;
    unsigned w[3], h[3];
    ptrdiff_t stride[3];
    void *data[3];
    VmafRef *ref;
    void *priv;
} VmafPicture;

/* Allocates a picture of zeros. */
int vmaf_picture_alloc(VmafPicture *pic, enum VmafPixelFormat pix_fmt, unsigned bpc, unsigned w, unsigned h);

/* Gives a picture back that was not handed to vmaf_read_pictures, and zeroes the struct. */
int vmaf_picture_unref(VmafPicture *pic);

#ifdef __cplusplus
}
#endif

#endif
