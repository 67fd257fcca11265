// A CUDA driver library (libcuda.so.1) for tests: memory is the host's, streams finish at once, and kernels are our own
// sources, compiled for the host. The variable VISUS_FAKE_CUDA makes it fail in one of the ways that drivers do.

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "emulate.h"

#include "../../kernels/adm.cu"
#include "../../kernels/cambi.cu"
#include "../../kernels/motion.cu"
#include "../../kernels/picture.cu"
#include "../../kernels/psnr.cu"
#include "../../kernels/speed.cu"
#include "../../kernels/vif.cu"

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    DEVICE_UNAVAILABLE = 46,
    NO_DEVICE = 100,
    NOT_FOUND = 500,
    LAUNCH_TIMEOUT = 702,
    LAUNCH_FAILED = 719,
};

static bool fails(const char* how) {
    const char* chosen = getenv("VISUS_FAKE_CUDA");
    return chosen && !strcmp(chosen, how);
}

static std::mutex launching;

struct Function {
    const char* name;
    void (*run)(void**);
};

#define KERNEL(name, Arguments) {#name, [](void** p) { name(*(const Arguments*)p[0]); }}
static Function functions[] = {
    KERNEL(motion_u8, MotionArguments),
    KERNEL(motion_u16, MotionArguments),
    KERNEL(vif_decimate_u8, DecimateArguments),
    KERNEL(vif_decimate_u16, DecimateArguments),
    KERNEL(vif_decimate_1, DecimateArguments),
    KERNEL(vif_decimate_2, DecimateArguments),
    KERNEL(vif_statistic_u8, VifArguments),
    KERNEL(vif_statistic_u16, VifArguments),
    KERNEL(vif_statistic_1, VifArguments),
    KERNEL(vif_statistic_2, VifArguments),
    KERNEL(vif_statistic_3, VifArguments),
    KERNEL(adm_wavelet_u8, WaveletArguments),
    KERNEL(adm_wavelet_u16, WaveletArguments),
    KERNEL(adm_wavelet_1, WaveletArguments),
    KERNEL(adm_wavelet_2, WaveletArguments),
    KERNEL(adm_mask_short, MaskArguments),
    KERNEL(adm_mask_short_aim, MaskArguments),
    KERNEL(adm_mask_long, MaskArguments),
    KERNEL(adm_mask_long_aim, MaskArguments),
    KERNEL(adm_total, TotalArguments),
    KERNEL(cambi_load_u8, CambiLoadArguments),
    KERNEL(cambi_load_u16, CambiLoadArguments),
    KERNEL(cambi_filter, CambiArguments),
    KERNEL(cambi_contrast, CambiArguments),
    KERNEL(cambi_coarse, CambiArguments),
    KERNEL(cambi_fine, CambiArguments),
    KERNEL(cambi_total, CambiArguments),
    KERNEL(picture_unpack_u8, UnpackArguments),
    KERNEL(picture_unpack_u16, UnpackArguments),
    KERNEL(picture_cells_u8, CellsArguments),
    KERNEL(picture_cells_u16, CellsArguments),
    KERNEL(picture_compare, CompareArguments),
    KERNEL(psnr_u8, PsnrArguments),
    KERNEL(psnr_u16, PsnrArguments),
    KERNEL(speed_front_u8, SpeedArguments),
    KERNEL(speed_front_u16, SpeedArguments),
    KERNEL(speed_statistic, SpeedArguments),
    {"log2_table", [](void** p) { log2_table(*(i32**)p[0]); }},
};

extern "C" {

CUresult cuInit(unsigned) {
    return fails("no-device") ? NO_DEVICE : SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = fails("old") ? 11080 : 12040;
    return SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = fails("two") ? 2 : 1;
    return SUCCESS;
}
CUresult cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, int) {
    snprintf(name, length, "Emulated GPU");
    return SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, int) {
    *bytes = (size_t)1 << 32;
    return SUCCESS;
}
// Compute capability, major (75) and minor (76).
CUresult cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? (fails("old-device") ? 5 : 9) : attribute == 76 ? 0 : 1;
    return SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(void** context, int) {
    if (fails("busy")) {
        return DEVICE_UNAVAILABLE;
    }
    static int one;
    *context = &one;
    return SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(int) {
    return SUCCESS;
}
CUresult cuCtxSetCurrent(void*) {
    return SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t* available, size_t* total) {
    *total = (size_t)1 << 32;
    *available = fails("crowded") ? (size_t)8 << 20 : *total;
    return SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    // The table of logarithms is small enough even then.
    if (fails("memory") && bytes > (1 << 18)) {
        return OUT_OF_MEMORY;
    }
    // Not zeros: whoever forgets to write shows.
    void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(memory, 0xa5, bytes);
    *address = (CUdeviceptr)memory;
    return SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
    free((void*)address);
    return SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
    free(memory);
    return SUCCESS;
}
CUresult cuEventCreate(void** event, unsigned) {
    *event = malloc(1);
    return SUCCESS;
}
CUresult cuEventDestroy_v2(void* event) {
    free(event);
    return SUCCESS;
}
CUresult cuEventRecord(void*, void*) {
    return SUCCESS;
}
CUresult cuEventQuery(void*) {
    return SUCCESS;
}
CUresult cuEventSynchronize(void*) {
    return fails("lost") ? LAUNCH_FAILED : fails("timeout") ? LAUNCH_TIMEOUT : SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, void*, void*) {
    *milliseconds = 0;
    return SUCCESS;
}
CUresult cuStreamCreate(void** stream, unsigned) {
    *stream = malloc(1);
    return SUCCESS;
}
CUresult cuStreamDestroy_v2(void* stream) {
    free(stream);
    return SUCCESS;
}
CUresult cuStreamSynchronize(void*) {
    return SUCCESS;
}
CUresult cuModuleLoadData(void** module, const void* ptx) {
    static int one;
    *module = &one;
    return strstr((const char*)ptx, ".target sm_60") ? SUCCESS : INVALID_VALUE;
}
CUresult cuModuleUnload(void*) {
    return SUCCESS;
}
CUresult cuModuleGetFunction(void** found, void*, const char* name) {
    for (Function& function : functions) {
        if (!strcmp(function.name, name)) {
            *found = &function;
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, void*) {
    memset((void*)address, value, bytes);
    return SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr address, const void* from, size_t bytes, void*) {
    memcpy((void*)address, from, bytes);
    return SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* into, CUdeviceptr address, size_t bytes, void*) {
    memcpy(into, (const void*)address, bytes);
    return SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr into, CUdeviceptr from, size_t bytes, void*) {
    memcpy((void*)into, (const void*)from, bytes);
    return SUCCESS;
}

struct Copy {
    size_t from_x, from_y;
    int from_kind;
    const char* from_host;
    CUdeviceptr from_device;
    void* from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_kind;
    void* to_host;
    CUdeviceptr to_device;
    void* to_array;
    size_t to_pitch;
    size_t width, height;
};

CUresult cuMemcpy2DAsync_v2(const Copy* copy, void*) {
    for (size_t y = 0; y < copy->height; y++) {
        memcpy((char*)copy->to_device + y * copy->to_pitch, copy->from_host + y * copy->from_pitch, copy->width);
    }
    return SUCCESS;
}
CUresult cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned, void*, void** parameters, void**) {
    std::lock_guard<std::mutex> lock(launching);
    Function* kernel = (Function*)function;
    emulated::launch({x, y, z}, threads, [=] { kernel->run(parameters); });
    if (fails("wrong-sums") && !strcmp(kernel->name, "cambi_total")) {
        ((CambiArguments*)parameters[0])->sums[0] += 1;
    }
    if (fails("wrong") && !strcmp(kernel->name, "log2_table")) {
        (**(i32***)parameters)[1234] += 1;
    }
    return SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = error == NO_DEVICE        ? "CUDA_ERROR_NO_DEVICE"
          : error == OUT_OF_MEMORY    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == DEVICE_UNAVAILABLE ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
          : error == LAUNCH_TIMEOUT   ? "CUDA_ERROR_LAUNCH_TIMEOUT"
          : error == LAUNCH_FAILED    ? "CUDA_ERROR_LAUNCH_FAILED"
                                      : "CUDA_ERROR";
    return SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    *text = error == NO_DEVICE ? "no CUDA-capable device is detected" : "an error of the emulated driver";
    return SUCCESS;
}
}
