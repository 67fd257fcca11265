/* Contexts: pairs of pictures in, scores out.
 *
 * Part of Visus, which provides libvmaf's C API (version 3). All functions return 0, or a negative errno value, unless
 * they say otherwise. Nothing here is freed twice or crashes if it is: a stale object is -EINVAL. */
#ifndef VISUS_LIBVMAF_LIBVMAF_H
#define VISUS_LIBVMAF_LIBVMAF_H

#include <stdint.h>
#include <stdio.h>

#include "feature.h"
#include "model.h"
#include "picture.h"

#ifdef __cplusplus
extern "C" {
#endif

enum VmafLogLevel {
    VMAF_LOG_LEVEL_NONE = 0,
    VMAF_LOG_LEVEL_ERROR = 1,
    VMAF_LOG_LEVEL_WARNING = 2,
    VMAF_LOG_LEVEL_INFO = 3,
    VMAF_LOG_LEVEL_DEBUG = 4
};

enum VmafOutputFormat {
    VMAF_OUTPUT_FORMAT_NONE = 0,
    VMAF_OUTPUT_FORMAT_XML = 1,
    VMAF_OUTPUT_FORMAT_JSON = 2,
    VMAF_OUTPUT_FORMAT_CSV = 3,
    VMAF_OUTPUT_FORMAT_SUB = 4
};

enum VmafPoolingMethod {
    VMAF_POOL_METHOD_UNKNOWN = 0,
    VMAF_POOL_METHOD_MIN = 1,
    VMAF_POOL_METHOD_MAX = 2,
    VMAF_POOL_METHOD_MEAN = 3,
    VMAF_POOL_METHOD_HARMONIC_MEAN = 4,
    VMAF_POOL_METHOD_NB = 5
};

/* n_threads: workers; 0 computes in the caller's thread. The environment variable VISUS_THREADS overrides it.
 * n_subsample: only every n-th frame is listed. cpumask: instruction sets not to use. gpumask: not used. */
typedef struct VmafConfiguration {
    enum VmafLogLevel log_level;
    unsigned n_threads;
    unsigned n_subsample;
    uint64_t cpumask;
    uint64_t gpumask;
} VmafConfiguration;

typedef struct VmafPictureConfiguration {
    struct {
        unsigned w, h;
        unsigned bpc;
        enum VmafPixelFormat pix_fmt;
    } pic_params;
    unsigned pic_cnt;
} VmafPictureConfiguration;

typedef struct VmafContext VmafContext;

int vmaf_init(VmafContext **vmaf, VmafConfiguration cfg);
int vmaf_close(VmafContext *vmaf);

/* What is computed. To be called before the first pair is read. The dictionary is used up. */
int vmaf_use_features_from_model(VmafContext *vmaf, VmafModel *model);
int vmaf_use_features_from_model_collection(VmafContext *vmaf, VmafModelCollection *model_collection);
int vmaf_use_feature(VmafContext *vmaf, const char *feature_name, VmafFeatureDictionary *opts_dict);

/* A score that was computed elsewhere. */
int vmaf_import_feature_score(VmafContext *vmaf, const char *feature_name, double value, unsigned index);

/* Hands a pair over; both structs are zeroed, whatever is returned. Waits while too many pairs are in flight. With NULL
 * for both there are no more pairs. */
int vmaf_read_pictures(VmafContext *vmaf, VmafPicture *ref, VmafPicture *dist, unsigned index);

/* Pictures that are allocated in advance, and used again. */
int vmaf_preallocate_pictures(VmafContext *vmaf, VmafPictureConfiguration cfg);
int vmaf_fetch_preallocated_picture(VmafContext *vmaf, VmafPicture *pic);

/* Scores at a frame. What is not computed yet is waited for; what needs a later frame is -EINVAL until that is read. */
int vmaf_score_at_index(VmafContext *vmaf, VmafModel *model, double *score, unsigned index);
int vmaf_score_at_index_model_collection(VmafContext *vmaf, VmafModelCollection *model_collection,
                                         VmafModelCollectionScore *score, unsigned index);
int vmaf_feature_score_at_index(VmafContext *vmaf, const char *feature_name, double *score, unsigned index);

/* One number for the frames from index_low to index_high. */
int vmaf_score_pooled(VmafContext *vmaf, VmafModel *model, enum VmafPoolingMethod pool_method, double *score,
                      unsigned index_low, unsigned index_high);
int vmaf_score_pooled_model_collection(VmafContext *vmaf, VmafModelCollection *model_collection,
                                       enum VmafPoolingMethod pool_method, VmafModelCollectionScore *score,
                                       unsigned index_low, unsigned index_high);
int vmaf_feature_score_pooled(VmafContext *vmaf, const char *feature_name, enum VmafPoolingMethod pool_method,
                              double *score, unsigned index_low, unsigned index_high);

/* Writes everything that is known. */
int vmaf_write_output(VmafContext *vmaf, const char *output_path, enum VmafOutputFormat fmt);

/* "3.2.0-visus-..." : the version of libvmaf whose API this is, and that of Visus. */
const char *vmaf_version(void);

#ifdef __cplusplus
}
#endif

#endif
