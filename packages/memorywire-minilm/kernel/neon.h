/* Rows times a matrix of 8-bit weights on 64-bit ARM: on every such processor, with the dot products of
 * ARMv8.2, and with the 8-bit matrix products of ARMv8.6. Sums of whole numbers are exact in any order.
 *
 * All else is compiled from lanes.h: NEON is part of every 64-bit ARM processor. */
#ifndef MINILM_NEON_H
#define MINILM_NEON_H

#include "products.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(_WIN32)
#include <windows.h>
#endif

#if defined(__clang__)
#define DOTPROD __attribute__((target("dotprod")))
#define I8MM __attribute__((target("dotprod,i8mm")))
#else
#define DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#define I8MM __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))
#endif

#if defined(__linux__)
enum { HAS_DOTPROD = 1 << 20, HAS_I8MM = 1 << 13 };

static int has_dotprod(void) { return (getauxval(AT_HWCAP) & HAS_DOTPROD) != 0; }
static int has_i8mm(void) { return (getauxval(AT_HWCAP2) & HAS_I8MM) != 0; }
#elif defined(__APPLE__)
static int has_feature(const char *name) {
    int is_there = 0;
    size_t size = sizeof is_there;
    return sysctlbyname(name, &is_there, &size, NULL, 0) == 0 && is_there;
}

static int has_dotprod(void) { return has_feature("hw.optional.arm.FEAT_DotProd"); }
static int has_i8mm(void) { return has_feature("hw.optional.arm.FEAT_I8MM"); }
#elif defined(_WIN32)
/* The numbers of the features; only recent headers name them. */
enum { DOTPROD_AVAILABLE = 43, I8MM_AVAILABLE = 66 };

static int has_dotprod(void) { return IsProcessorFeaturePresent(DOTPROD_AVAILABLE) != 0; }
static int has_i8mm(void) { return IsProcessorFeaturePresent(I8MM_AVAILABLE) != 0; }
#else
static int has_dotprod(void) { return 0; }
static int has_i8mm(void) { return 0; }
#endif

/* A line of weights is four registers, each of four inputs of four outputs. */
enum { QUARTERS = 4, QUARTER = 16 };

/* Sixteen steps with their signs. */
INLINE int8x16_t signed_steps(const uint8_t *steps) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(steps), vdupq_n_u8(128)));
}

/* `finish` for four outputs of one row. */
INLINE void finish_quarter(const Matrix *matrix, const Quantised *rows, int row, int output,
                           int32x4_t sums, float *out) {
    float32x4_t numbers = vmulq_n_f32(vcvtq_f32_s32(sums), rows->size[row]);
    float32x4_t weights = vcvtq_f32_s32(vld1q_s32(matrix->sum + output));
    numbers = vaddq_f32(numbers, vmulq_n_f32(weights, rows->middle[row]));
    numbers = vmulq_f32(numbers, vld1q_f32(matrix->scale + output));
    numbers = vaddq_f32(numbers, vld1q_f32(matrix->bias + output));
    vst1q_f32(out + (size_t)row * matrix->outputs + output, numbers);
}

/* A tile of `height` rows by 16 outputs, on any 64-bit ARM. Two products of steps and weights, at most
 * 127 * 127 each, fit into 16 bits. */
INLINE void neon_tile(const Matrix *matrix, const Quantised *rows, int row, int height, int output,
                      float *out) {
    int inputs = matrix->inputs;
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *line = matrix->lines + (size_t)output * inputs;
    int32x4_t low[2][QUARTERS], high[2][QUARTERS]; /* the sums of two outputs each, in pairs */
    UNROLL for (int r = 0; r < height; r++)
        UNROLL for (int q = 0; q < QUARTERS; q++) low[r][q] = high[r][q] = vdupq_n_s32(0);
    for (int i = 0; i < inputs; i += 8, line += 2 * LINE) {
        int8x8_t first[2], second[2]; /* four steps, repeated */
        UNROLL for (int r = 0; r < height; r++) {
            const uint32_t *fours = (const uint32_t *)(steps + (size_t)r * inputs + i);
            uint8x8_t sign = vdup_n_u8(128);
            first[r] = vreinterpret_s8_u8(veor_u8(vreinterpret_u8_u32(vld1_dup_u32(fours)), sign));
            second[r] = vreinterpret_s8_u8(veor_u8(vreinterpret_u8_u32(vld1_dup_u32(fours + 1)), sign));
        }
        UNROLL for (int q = 0; q < QUARTERS; q++) {
            int8x16_t one = vld1q_s8(line + q * QUARTER), other = vld1q_s8(line + LINE + q * QUARTER);
            UNROLL for (int r = 0; r < height; r++) {
                int16x8_t pairs = vmull_s8(vget_low_s8(one), first[r]);
                pairs = vmlal_s8(pairs, vget_low_s8(other), second[r]);
                low[r][q] = vpadalq_s16(low[r][q], pairs);
                pairs = vmull_s8(vget_high_s8(one), first[r]);
                pairs = vmlal_s8(pairs, vget_high_s8(other), second[r]);
                high[r][q] = vpadalq_s16(high[r][q], pairs);
            }
        }
    }
    UNROLL for (int r = 0; r < height; r++)
        UNROLL for (int q = 0; q < QUARTERS; q++) {
            int32x4_t sums = vpaddq_s32(low[r][q], high[r][q]);
            finish_quarter(matrix, rows, row + r, output + 4 * q, sums, out);
        }
}

static void neon_product(const Matrix *matrix, const Quantised *rows, int count, int first, int last,
                         float *out) {
    for (int output = first * GROUP; output < last * GROUP; output += GROUP) {
        int row = 0;
        for (; row + 2 <= count; row += 2) neon_tile(matrix, rows, row, 2, output, out);
        if (row < count) neon_tile(matrix, rows, row, 1, output, out);
    }
}

/* A tile of up to five rows: 20 of 32 registers for the sums, five for the steps. */
enum { DOT_TALLEST = 5 };

DOTPROD INLINE void dotprod_tile(const Matrix *matrix, const Quantised *rows, int row, int height,
                                 int output, float *out) {
    int inputs = matrix->inputs;
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *line = matrix->lines + (size_t)output * inputs;
    int32x4_t sums[DOT_TALLEST][QUARTERS];
    UNROLL for (int r = 0; r < height; r++)
        UNROLL for (int q = 0; q < QUARTERS; q++) sums[r][q] = vdupq_n_s32(0);
    for (int i = 0; i < inputs; i += 16, line += 4 * LINE) {
        int8x16_t sixteen[DOT_TALLEST];
        UNROLL for (int r = 0; r < height; r++)
            sixteen[r] = signed_steps(steps + (size_t)r * inputs + i);
#define FOUR(part) \
        UNROLL for (int q = 0; q < QUARTERS; q++) { \
            int8x16_t weights = vld1q_s8(line + part * LINE + q * QUARTER); \
            UNROLL for (int r = 0; r < height; r++) \
                sums[r][q] = vdotq_laneq_s32(sums[r][q], weights, sixteen[r], part); \
        }
        FOUR(0) FOUR(1) FOUR(2) FOUR(3)
#undef FOUR
    }
    UNROLL for (int r = 0; r < height; r++)
        UNROLL for (int q = 0; q < QUARTERS; q++)
            finish_quarter(matrix, rows, row + r, output + 4 * q, sums[r][q], out);
}

DOTPROD static void dotprod_product(const Matrix *matrix, const Quantised *rows, int count, int first,
                                    int last, float *out) {
    int tiles = (count + DOT_TALLEST - 1) / DOT_TALLEST;
    for (int output = first * GROUP; output < last * GROUP; output += GROUP)
        for (int tile = 0, row = 0; tile < tiles; tile++) {
            int height = count / tiles + (tile < count % tiles);
            switch (height) {
#define TALL(height) \
    case height: dotprod_tile(matrix, rows, row, height, output, out); break;
                TALL(1) TALL(2) TALL(3) TALL(4) TALL(5)
#undef TALL
            }
            row += height;
        }
}

/* A tile of `pairs` pairs of rows; a register has the sums of two rows and two outputs. */
enum { I8MM_PAIRS = 3, EIGHTS = 8 };

I8MM INLINE void i8mm_tile(const Matrix *matrix, const Quantised *rows, int row, int pairs, int output,
                           float *out) {
    int inputs = matrix->inputs;
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *line = matrix->lines + (size_t)output * inputs;
    int32x4_t sums[I8MM_PAIRS][EIGHTS];
    UNROLL for (int p = 0; p < pairs; p++)
        UNROLL for (int e = 0; e < EIGHTS; e++) sums[p][e] = vdupq_n_s32(0);
    for (int i = 0; i < inputs; i += 8, line += 2 * LINE) {
        int8x16_t both[I8MM_PAIRS];
        UNROLL for (int p = 0; p < pairs; p++) {
            const uint8_t *upper = steps + (size_t)(2 * p) * inputs + i;
            uint8x16_t two = vcombine_u8(vld1_u8(upper), vld1_u8(upper + inputs));
            both[p] = vreinterpretq_s8_u8(veorq_u8(two, vdupq_n_u8(128)));
        }
        UNROLL for (int q = 0; q < QUARTERS; q++) {
            int32x4_t one = vreinterpretq_s32_s8(vld1q_s8(line + q * QUARTER));
            int32x4_t other = vreinterpretq_s32_s8(vld1q_s8(line + LINE + q * QUARTER));
            int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(one, other));
            int8x16_t high = vreinterpretq_s8_s32(vzip2q_s32(one, other));
            UNROLL for (int p = 0; p < pairs; p++) {
                sums[p][2 * q] = vmmlaq_s32(sums[p][2 * q], both[p], low);
                sums[p][2 * q + 1] = vmmlaq_s32(sums[p][2 * q + 1], both[p], high);
            }
        }
    }
    UNROLL for (int p = 0; p < pairs; p++)
        UNROLL for (int q = 0; q < QUARTERS; q++) {
            int64x2_t low = vreinterpretq_s64_s32(sums[p][2 * q]);
            int64x2_t high = vreinterpretq_s64_s32(sums[p][2 * q + 1]);
            int32x4_t upper = vreinterpretq_s32_s64(vzip1q_s64(low, high));
            int32x4_t lower = vreinterpretq_s32_s64(vzip2q_s64(low, high));
            finish_quarter(matrix, rows, row + 2 * p, output + 4 * q, upper, out);
            finish_quarter(matrix, rows, row + 2 * p + 1, output + 4 * q, lower, out);
        }
}

/* Pairs of rows are shared out evenly; a row that is left over has dot products. */
I8MM static void i8mm_product(const Matrix *matrix, const Quantised *rows, int count, int first, int last,
                              float *out) {
    int half = count / 2, tiles = (half + I8MM_PAIRS - 1) / I8MM_PAIRS;
    for (int output = first * GROUP; output < last * GROUP; output += GROUP) {
        int row = 0;
        for (int tile = 0; tile < tiles; tile++) {
            int pairs = half / tiles + (tile < half % tiles);
            switch (pairs) {
#define TALL(pairs) \
    case pairs: i8mm_tile(matrix, rows, row, pairs, output, out); break;
                TALL(1) TALL(2) TALL(3)
#undef TALL
            }
            row += 2 * pairs;
        }
        if (row < count) dotprod_tile(matrix, rows, row, 1, output, out);
    }
}

#endif
#endif
