/* A program that uses libvmaf's API: layouts, one pair, one score. */
#include <libvmaf/libvmaf.h>
#include <libvmaf/version.h>
#include <string.h>

_Static_assert(sizeof(VmafConfiguration) == 32, "configuration");
_Static_assert(sizeof(VmafPictureConfiguration) == 20, "configuration of pictures");
_Static_assert(sizeof(VmafPicture) == 96, "picture");
_Static_assert(offsetof(VmafPicture, stride) == 32, "stride");
_Static_assert(offsetof(VmafPicture, data) == 56, "data");
_Static_assert(sizeof(VmafModelCollectionScore) == 40, "score of a collection");
_Static_assert(VMAF_API_VERSION_MAJOR == 3, "version");

int main(void)
{
    VmafConfiguration cfg = { .log_level = VMAF_LOG_LEVEL_ERROR };
    VmafContext *vmaf = NULL;
    VmafModel *model = NULL;
    VmafModelConfig model_cfg = { .name = "score" };
    VmafPicture ref, dist;
    double score = -1;

    puts(vmaf_version());
    if (vmaf_init(&vmaf, cfg)) return 1;
    if (vmaf_model_load(&model, &model_cfg, "vmaf_v0.6.1")) return 2;
    if (vmaf_use_features_from_model(vmaf, model)) return 3;
    if (vmaf_picture_alloc(&ref, VMAF_PIX_FMT_YUV420P, 8, 96, 64)) return 4;
    if (vmaf_picture_alloc(&dist, VMAF_PIX_FMT_YUV420P, 8, 96, 64)) return 5;
    for (unsigned y = 0; y < ref.h[0]; y++) {
        for (unsigned x = 0; x < ref.w[0]; x++)
            ((unsigned char *)ref.data[0])[y * ref.stride[0] + x] = (unsigned char)(x * y);
        memcpy((char *)dist.data[0] + y * dist.stride[0], (char *)ref.data[0] + y * ref.stride[0], ref.w[0]);
    }
    if (vmaf_read_pictures(vmaf, &ref, &dist, 0)) return 6;
    if (vmaf_read_pictures(vmaf, NULL, NULL, 0)) return 7;
    if (vmaf_score_pooled(vmaf, model, VMAF_POOL_METHOD_MEAN, &score, 0, 0)) return 8;
    if (score < 90 || score > 100) return 9;
    vmaf_model_destroy(model);
    return vmaf_close(vmaf) ? 10 : 0;
}
