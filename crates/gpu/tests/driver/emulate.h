// CUDA's language on a host compiler: the threads of a block are fibers that take turns at barriers and shuffles, blocks
// run one after the other. Slow, but the same source gives the same integers, on a machine without a GPU.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

struct dim3 {
    unsigned x, y, z;
};
struct int2 {
    int x, y;
};
struct float2 {
    float x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};

namespace emulated {

enum class State { ready, at_warp, at_block, done };

struct Fiber {
    ucontext_t start;
    jmp_buf here;
    std::unique_ptr<char[]> stack;
    dim3 thread;
    State state;
    unsigned shuffles;
    bool entered;
};

struct Block {
    std::vector<Fiber> fibers;
    Fiber* current;
    jmp_buf scheduler;
    dim3 index, count;
    // Two sets of exchanged values: a lane may be one shuffle ahead of those that still read.
    uint64_t exchanged[2][1024];
    std::function<void()> kernel;
};

inline Block block;
constexpr size_t STACK = 64 * 1024;

// Fibers are entered through a context once; from then on jumps switch between them, which no system call slows down.
__attribute__((noinline)) inline void wait(State state) {
    block.current->state = state;
    if (!_setjmp(block.current->here)) {
        _longjmp(block.scheduler, 1);
    }
}

inline void enter() {
    for (;;) {
        block.kernel();
        wait(State::done);
    }
}

__attribute__((noinline)) inline void resume(Fiber& fiber) {
    block.current = &fiber;
    if (_setjmp(block.scheduler)) {
        return;
    }
    if (fiber.entered) {
        _longjmp(fiber.here, 1);
    }
    fiber.entered = true;
    setcontext(&fiber.start);
}

// Runs the lanes of a warp until each has ended or waits for the block.
inline void run_warp(size_t first, size_t last) {
    for (;;) {
        bool ran = false;
        for (size_t i = first; i < last; i++) {
            if (block.fibers[i].state == State::ready) {
                resume(block.fibers[i]);
                ran = true;
            }
        }
        size_t waiting = 0, others = 0;
        for (size_t i = first; i < last; i++) {
            waiting += block.fibers[i].state == State::at_warp;
            others += block.fibers[i].state == State::at_block;
        }
        if (waiting && others) {
            abort();  // A barrier of the block within divergent code: undefined on a device, too.
        }
        for (size_t i = first; i < last && waiting; i++) {
            if (block.fibers[i].state == State::at_warp) {
                block.fibers[i].state = State::ready;
            }
        }
        if (!waiting && !ran) {
            return;
        }
    }
}

inline void make(Fiber& fiber) {
    fiber.stack.reset(new char[STACK]);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, enter, 0);
}

inline void run_block(unsigned threads) {
    // Fibers stay where they are: their contexts hold addresses.
    if (block.fibers.empty()) {
        block.fibers = std::vector<Fiber>(1024);
    }
    for (unsigned i = 0; i < threads; i++) {
        Fiber& fiber = block.fibers[i];
        if (!fiber.stack) {
            make(fiber);
        }
        fiber.thread = {i, 0, 0};
        fiber.state = State::ready;
        fiber.shuffles = 0;
    }
    for (bool alive = true; alive;) {
        for (unsigned first = 0; first < threads; first += 32) {
            run_warp(first, first + 32 < threads ? first + 32 : threads);
        }
        alive = false;
        for (unsigned i = 0; i < threads; i++) {
            if (block.fibers[i].state == State::at_block) {
                block.fibers[i].state = State::ready;
                alive = true;
            }
        }
    }
}

inline void launch(dim3 grid, unsigned threads, std::function<void()> kernel) {
    block.kernel = std::move(kernel);
    block.count = grid;
    for (unsigned z = 0; z < grid.z; z++) {
        for (unsigned y = 0; y < grid.y; y++) {
            for (unsigned x = 0; x < grid.x; x++) {
                block.index = {x, y, z};
                run_block(threads);
            }
        }
    }
}

// The value that the lane `source` gives in this shuffle.
template <typename T>
inline T exchange(T value, int source) {
    Fiber& fiber = *block.current;
    unsigned thread = fiber.thread.x, set = fiber.shuffles++ & 1;
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    block.exchanged[set][thread] = bits;
    wait(State::at_warp);
    int lane = thread & 31;
    bits = block.exchanged[set][(thread & ~31u) + (source < 0 || source > 31 ? lane : source)];
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline int lane() {
    return block.current->thread.x & 31;
}

}  // namespace emulated

#define threadIdx (emulated::block.current->thread)
#define blockIdx (emulated::block.index)
#define gridDim (emulated::block.count)
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __constant__ static const
#define __align__(bytes) __attribute__((aligned(bytes)))

inline void __syncthreads() {
    emulated::wait(emulated::State::at_block);
}

template <typename T>
inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulated::exchange(value, emulated::lane() ^ mask);
}
template <typename T>
inline T __shfl_up_sync(unsigned, T value, int distance) {
    return emulated::exchange(value, emulated::lane() - distance);
}
template <typename T>
inline T __shfl_down_sync(unsigned, T value, int distance) {
    return emulated::exchange(value, emulated::lane() + distance);
}

inline void atomicAdd(unsigned long long* sum, unsigned long long value) {
    *sum += value;
}

inline void atomicAdd(unsigned* sum, unsigned value) {
    *sum += value;
}

inline int __clz(unsigned value) {
    return value ? __builtin_clz(value) : 32;
}
inline float __int_as_float(unsigned bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
inline int __float_as_int(float value) {
    int bits;
    memcpy(&bits, &value, 4);
    return bits;
}
inline int __double2hiint(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return (int)(bits >> 32);
}
inline float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float __double2float_rn(double value) {
    return (float)value;
}
inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline double __ddiv_rn(double a, double b) {
    return a / b;
}
inline int __double2int_rz(double value) {
    return value >= 2147483647.0 ? 2147483647 : value <= -2147483648.0 ? -2147483647 - 1 : (int)value;
}
inline unsigned __double2uint_rz(double value) {
    return value >= 4294967295.0 ? 4294967295u : value <= 0.0 ? 0u : (unsigned)value;
}
inline float __int2float_rn(int value) {
    return (float)value;
}
inline float __ll2float_rn(long long value) {
    return (float)value;
}
