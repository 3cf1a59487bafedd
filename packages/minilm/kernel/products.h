/* Rows times a matrix of 8-bit weights, for each instruction set; all give the same numbers. */
#ifndef MINILM_PRODUCTS_H
#define MINILM_PRODUCTS_H

#include <stddef.h>
#include <string.h>

#include "lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#define VNNI __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#endif

/* The weights of 16 outputs lie together, four inputs to a line of 64 bytes. */
enum { GROUP = 16, LINE = 64 };

typedef struct {
    const int8_t *lines; /* [outputs / 16][inputs / 4][16][4] */
    const float *scale, *bias;
    const int32_t *sum; /* of the weights of each output */
    int outputs, inputs;
} Matrix;

typedef struct {
    uint8_t *steps; /* each number's distance from the middle in steps of -127 to 127, plus 128 */
    float *size;    /* of a step, for each row */
    float *middle;  /* between the least and the greatest number of each row */
} Quantised;

typedef void Product(const Matrix *, const Quantised *, int count, float *out);

INLINE void quantise(const float *rows, int count, int width, const Quantised *target) {
    for (int row = 0; row < count; row++, rows += width) {
        float least, most;
        bounds(rows, width, &least, &most);
        float middle = (most + least) * 0.5f, reach = (most - least) * 0.5f;
        float steps = steps_in_one(reach, 127.0f);
        target->size[row] = reach / 127.0f;
        target->middle[row] = middle;
        for (int i = 0; i < width; i += LANES) {
            Floats shifted = (*at(rows + i) - middle) * steps + ROUNDER;
            Bytes bytes = __builtin_convertvector((Ints)shifted + 128, Bytes);
            memcpy(target->steps + (size_t)row * width + i, &bytes, LANES);
        }
    }
}

/* Sums of whole steps back to numbers, for 8 outputs of one row. */
INLINE void finish(const Matrix *matrix, const Quantised *rows, int row, int output,
                   const Ints *sums, float *out) {
    Floats numbers = __builtin_convertvector(*sums, Floats) * rows->size[row];
    Ints weights = *(const Ints *)(matrix->sum + output);
    numbers += __builtin_convertvector(weights, Floats) * rows->middle[row];
    *at(out + (size_t)row * matrix->outputs + output) =
        numbers * *at(matrix->scale + output) + *at(matrix->bias + output);
}

/* For any processor. */
static void plain_product(const Matrix *matrix, const Quantised *rows, int count, float *out) {
    for (int output = 0; output < matrix->outputs; output += GROUP)
        for (int row = 0; row < count; row++) {
            const uint8_t *steps = rows->steps + (size_t)row * matrix->inputs;
            const int8_t *line = matrix->lines + (size_t)output * matrix->inputs;
            int32_t sums[GROUP] = {0};
            for (int i = 0; i < matrix->inputs; i += 4, line += LINE)
                for (int lane = 0; lane < GROUP; lane++)
                    for (int part = 0; part < 4; part++)
                        sums[lane] += (steps[i + part] - 128) * line[4 * lane + part];
            finish(matrix, rows, row, output, (const Ints *)sums, out);
            finish(matrix, rows, row, output + LANES, (const Ints *)sums + 1, out);
        }
}

#if defined(__x86_64__)

/* Four steps as one number, to be repeated over all lanes. */
INLINE int32_t four(const uint8_t *steps) {
    int32_t value;
    memcpy(&value, steps, sizeof value);
    return value;
}

/* Asks for weights that are needed soon: a text has few rows, so they come from memory slower than
 * they are multiplied. Behind the last weights it asks for nothing, and nothing happens. */
INLINE void fetch(const int8_t *weights) { _mm_prefetch((const char *)weights, _MM_HINT_T1); }

/* Eight outputs' sums of four products. Signs move from the steps to the weights, so that the
 * unsigned by signed product of 8 bits cannot overflow its 16. */
AVX2 INLINE __m256i four_products(__m256i step, const int8_t *weights) {
    __m256i signs = _mm256_sign_epi8(_mm256_loadu_si256((const __m256i *)weights), step);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(step), signs);
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* A tile of `height` rows by 16 outputs. */
AVX2 INLINE void avx2_tile(const Matrix *matrix, const Quantised *rows, int row, int height,
                           int output, float *out) {
    int inputs = matrix->inputs;
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *line = matrix->lines + (size_t)output * inputs;
    Ints low[4] = {{0}}, high[4] = {{0}};
    for (int i = 0; i < inputs; i += 4, line += LINE) {
        fetch(line + (size_t)GROUP * inputs);
        UNROLL for (int r = 0; r < height; r++) {
            __m256i step = _mm256_set1_epi32(four(steps + (size_t)r * inputs + i));
            step = _mm256_xor_si256(step, _mm256_set1_epi8(-128));
            low[r] += (Ints)four_products(step, line);
            high[r] += (Ints)four_products(step, line + LINE / 2);
        }
    }
    UNROLL for (int r = 0; r < height; r++) {
        finish(matrix, rows, row + r, output, &low[r], out);
        finish(matrix, rows, row + r, output + LANES, &high[r], out);
    }
}

AVX2 static void avx2_product(const Matrix *matrix, const Quantised *rows, int count, float *out) {
    for (int output = 0; output < matrix->outputs; output += GROUP) {
        int row = 0;
        for (; row + 4 <= count; row += 4) avx2_tile(matrix, rows, row, 4, output, out);
        for (; row < count; row++) avx2_tile(matrix, rows, row, 1, output, out);
    }
}

typedef int32_t WideInts __attribute__((vector_size(64)));

/* What 128 steps too many in each row add to 16 outputs, to be taken off. */
VNNI INLINE __m512i excess(const Matrix *matrix, int output) {
    return _mm512_mullo_epi32(_mm512_loadu_si512(matrix->sum + output), _mm512_set1_epi32(-128));
}

/* `finish` for 16 outputs. */
VNNI INLINE void finish_wide(const Matrix *matrix, const Quantised *rows, int row, int output,
                             __m512i sums, float *out) {
    __m512 numbers = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(rows->size[row]));
    __m512 weights = _mm512_cvtepi32_ps(_mm512_loadu_si512(matrix->sum + output));
    weights = _mm512_mul_ps(weights, _mm512_set1_ps(rows->middle[row]));
    numbers = _mm512_add_ps(numbers, weights);
    numbers = _mm512_mul_ps(numbers, _mm512_loadu_ps(matrix->scale + output));
    numbers = _mm512_add_ps(numbers, _mm512_loadu_ps(matrix->bias + output));
    _mm512_storeu_ps(out + (size_t)row * matrix->outputs + output, numbers);
}

/* A tile of `height` rows by 32 outputs. */
VNNI INLINE void vnni_tile(const Matrix *matrix, const Quantised *rows, int row, int height,
                           int output, float *out) {
    int inputs = matrix->inputs;
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *first = matrix->lines + (size_t)output * inputs;
    const int8_t *second = first + (size_t)GROUP * inputs;
    size_t ahead = (size_t)2 * GROUP * inputs;
    /* Typed by lane: as __m512i, GCC keeps each sum twice and runs out of registers. */
    WideInts low[12], high[12];
    UNROLL for (int r = 0; r < height; r++) {
        low[r] = (WideInts)excess(matrix, output);
        high[r] = (WideInts)excess(matrix, output + GROUP);
    }
    for (int i = 0; i < inputs; i += 4, first += LINE, second += LINE) {
        __m512i a = _mm512_loadu_si512(first), b = _mm512_loadu_si512(second);
        fetch(first + ahead);
        fetch(second + ahead);
        UNROLL for (int r = 0; r < height; r++) {
            __m512i step = _mm512_set1_epi32(four(steps + (size_t)r * inputs + i));
            low[r] = (WideInts)_mm512_dpbusd_epi32((__m512i)low[r], step, a);
            high[r] = (WideInts)_mm512_dpbusd_epi32((__m512i)high[r], step, b);
        }
    }
    UNROLL for (int r = 0; r < height; r++) {
        finish_wide(matrix, rows, row + r, output, (__m512i)low[r], out);
        finish_wide(matrix, rows, row + r, output + GROUP, (__m512i)high[r], out);
    }
}

/* Each height is compiled apart, so that the sums stay in registers. Rows are shared out evenly,
 * for a tile of one row takes as long as one of two. */
VNNI static void vnni_product(const Matrix *matrix, const Quantised *rows, int count, float *out) {
    int tiles = (count + 11) / 12;
    for (int output = 0; output < matrix->outputs; output += 2 * GROUP)
        for (int tile = 0, row = 0; tile < tiles; tile++) {
            int height = count / tiles + (tile < count % tiles);
            switch (height) {
#define TALL(height) \
    case height: vnni_tile(matrix, rows, row, height, output, out); break;
                TALL(1) TALL(2) TALL(3) TALL(4) TALL(5) TALL(6)
                TALL(7) TALL(8) TALL(9) TALL(10) TALL(11) TALL(12)
#undef TALL
            }
            row += height;
        }
}

#endif
#endif
