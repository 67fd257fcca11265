// CUDA's language on a host compiler: the threads of a block are fibers that take turns at barriers and shuffles, blocks
// run one after the other. Slow, but the same source gives the same integers, on a machine without a GPU.
#pragma once

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
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    dim3 thread;
    State state;
    unsigned shuffles;
};

struct Block {
    std::vector<Fiber> fibers;
    Fiber* current;
    ucontext_t scheduler;
    dim3 index, count;
    // Two sets of exchanged values: a lane may be one shuffle ahead of those that still read.
    uint64_t exchanged[2][1024];
    std::function<void()> kernel;
};

inline Block block;
constexpr size_t STACK = 64 * 1024;

inline void wait(State state) {
    block.current->state = state;
    swapcontext(&block.current->context, &block.scheduler);
}

inline void enter() {
    block.kernel();
    block.current->state = State::done;
    swapcontext(&block.current->context, &block.scheduler);
}

inline void resume(Fiber& fiber) {
    block.current = &fiber;
    swapcontext(&block.scheduler, &fiber.context);
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

inline void run_block(unsigned threads) {
    block.fibers.resize(threads);
    for (unsigned i = 0; i < threads; i++) {
        Fiber& fiber = block.fibers[i];
        if (!fiber.stack) {
            fiber.stack.reset(new char[STACK]);
        }
        fiber.thread = {i, 0, 0};
        fiber.state = State::ready;
        fiber.shuffles = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, enter, 0);
    }
    for (bool alive = true; alive;) {
        for (unsigned first = 0; first < threads; first += 32) {
            run_warp(first, first + 32 < threads ? first + 32 : threads);
        }
        alive = false;
        for (Fiber& fiber : block.fibers) {
            if (fiber.state == State::at_block) {
                fiber.state = State::ready;
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
