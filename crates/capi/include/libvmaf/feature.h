/* Dictionaries: options of a feature extractor, as pairs of strings.
 *
 * Part of Visus, which provides libvmaf's C API (version 3). */
#ifndef VISUS_LIBVMAF_FEATURE_H
#define VISUS_LIBVMAF_FEATURE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VmafFeatureDictionary VmafFeatureDictionary;

/* Sets a key. If *dict is NULL, a dictionary is made. Returns 0, or a negative errno value. */
int vmaf_feature_dictionary_set(VmafFeatureDictionary **dict, const char *key, const char *val);

/* Frees a dictionary that was not handed to any other function, and sets *dict to NULL. */
int vmaf_feature_dictionary_free(VmafFeatureDictionary **dict);

#ifdef __cplusplus
}
#endif

#endif
