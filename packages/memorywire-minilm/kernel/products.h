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

/* The inputs of a matrix. */
enum { HIDDEN = 384, INNER = 1536 };

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

/* Writes the outputs of the groups `first` to `last`, the last not included. */
typedef void Product(const Matrix *, const Quantised *, int count, int first, int last, float *out);
typedef void Quantise(const float *rows, int first, int last, int width, const Quantised *);
typedef void Gelu(float *rows, int count, int first, int last, int width);

/* Notes where the middle of a row is; returns how many steps the number 1 has. */
INLINE float take_middle(float least, float most, const Quantised *target, int row) {
    float reach = (most - least) * 0.5f;
    target->size[row] = reach / 127.0f;
    target->middle[row] = (most + least) * 0.5f;
    return steps_in_one(reach, 127.0f);
}

/* Quantises the rows `first` to `last`, the last not included. */
INLINE void quantise(const float *rows, int first, int last, int width, const Quantised *target) {
    for (int row = first; row < last; row++) {
        const float *numbers = rows + (size_t)row * width;
        float least, most;
        bounds(numbers, width, &least, &most);
        float steps = take_middle(least, most, target, row);
        for (int i = 0; i < width; i += LANES) {
            Floats shifted = (*at(numbers + i) - target->middle[row]) * steps + ROUNDER;
            Bytes bytes = __builtin_convertvector((Ints)shifted + 128, Bytes);
            memcpy(target->steps + (size_t)row * width + i, &bytes, LANES);
        }
    }
}

/* The error linear unit of the groups `first` to `last` of every row, the last not included. */
INLINE void gelu_groups(float *rows, int count, int first, int last, int width) {
    for (int row = 0; row < count; row++)
        gelu(rows + (size_t)row * width + first * GROUP, (last - first) * GROUP);
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
static void plain_product(const Matrix *matrix, const Quantised *rows, int count, int first,
                          int last, float *out) {
    for (int output = first * GROUP; output < last * GROUP; output += GROUP)
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

/* A tile has at most so many rows, for there are 32 registers. */
enum { TALLEST = 24 };

/* Asks for weights that are needed soon: a text has few rows, so they come from memory slower than
 * they are multiplied. Behind the last weights it asks for nothing, and nothing happens. */
enum { AHEAD = 8192 };

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

AVX2 static void avx2_product(const Matrix *matrix, const Quantised *rows, int count, int first,
                              int last, float *out) {
    for (int output = first * GROUP; output < last * GROUP; output += GROUP) {
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

/* A tile of `height` rows by 16 outputs. */
VNNI INLINE void vnni_tile(const Matrix *matrix, int inputs, const Quantised *rows, int row,
                           int height, int output, float *out) {
    const uint8_t *steps = rows->steps + (size_t)row * inputs;
    const int8_t *line = matrix->lines + (size_t)output * inputs;
    /* Typed by lane: as __m512i, GCC keeps each sum twice and runs out of registers. */
    WideInts sums[TALLEST];
    UNROLL for (int r = 0; r < height; r++) sums[r] = (WideInts)excess(matrix, output);
    for (int i = 0; i < inputs; i += 4, line += LINE) {
        __m512i weights = _mm512_loadu_si512(line);
        fetch(line + AHEAD);
        UNROLL for (int r = 0; r < height; r++) {
            __m512i step = _mm512_set1_epi32(four(steps + (size_t)r * inputs + i));
            sums[r] = (WideInts)_mm512_dpbusd_epi32((__m512i)sums[r], step, weights);
        }
    }
    UNROLL for (int r = 0; r < height; r++)
        finish_wide(matrix, rows, row + r, output, (__m512i)sums[r], out);
}

/* Each height is compiled apart, so that the sums stay in registers. Rows are shared out evenly,
 * for a tile of one row takes as long as one of four. */
VNNI INLINE void vnni_groups(const Matrix *matrix, int inputs, const Quantised *rows, int count,
                             int first, int last, float *out) {
    int tiles = (count + TALLEST - 1) / TALLEST;
    for (int output = first * GROUP; output < last * GROUP; output += GROUP)
        for (int tile = 0, row = 0; tile < tiles; tile++) {
            int height = count / tiles + (tile < count % tiles);
            switch (height) {
#define TALL(height) \
    case height: vnni_tile(matrix, inputs, rows, row, height, output, out); break;
                TALL(1) TALL(2) TALL(3) TALL(4) TALL(5) TALL(6) TALL(7) TALL(8)
                TALL(9) TALL(10) TALL(11) TALL(12) TALL(13) TALL(14) TALL(15) TALL(16)
                TALL(17) TALL(18) TALL(19) TALL(20) TALL(21) TALL(22) TALL(23) TALL(24)
#undef TALL
            }
            row += height;
        }
}

/* So is each width, so that no register is needed to find a row. */
VNNI static void vnni_product(const Matrix *matrix, const Quantised *rows, int count, int first,
                              int last, float *out) {
    if (matrix->inputs == HIDDEN)
        vnni_groups(matrix, HIDDEN, rows, count, first, last, out);
    else
        vnni_groups(matrix, INNER, rows, count, first, last, out);
}

/* `quantise`, 16 numbers at a time. */
VNNI static void vnni_quantise(const float *rows, int first, int last, int width,
                               const Quantised *target) {
    for (int row = first; row < last; row++) {
        const float *numbers = rows + (size_t)row * width;
        __m512 low = _mm512_loadu_ps(numbers), high = low;
        for (int i = GROUP; i < width; i += GROUP) {
            low = _mm512_min_ps(low, _mm512_loadu_ps(numbers + i));
            high = _mm512_max_ps(high, _mm512_loadu_ps(numbers + i));
        }
        float least = _mm512_reduce_min_ps(low), most = _mm512_reduce_max_ps(high);
        __m512 steps = _mm512_set1_ps(take_middle(least, most, target, row));
        __m512 middle = _mm512_set1_ps(target->middle[row]);
        for (int i = 0; i < width; i += GROUP) {
            __m512 number = _mm512_sub_ps(_mm512_loadu_ps(numbers + i), middle);
            __m512 shifted = _mm512_add_ps(_mm512_mul_ps(number, steps), _mm512_set1_ps(ROUNDER));
            __m512i step = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(128));
            __m128i bytes = _mm512_cvtepi32_epi8(step);
            _mm_storeu_si128((__m128i *)(target->steps + (size_t)row * width + i), bytes);
        }
    }
}

/* `gelu_groups`, 16 numbers at a time. */
VNNI static void vnni_gelu(float *rows, int count, int first, int last, int width) {
    static const float factors[] = GELU_FACTORS;
    for (int row = 0; row < count; row++) {
        float *numbers = rows + (size_t)row * width;
        for (int i = first * GROUP; i < last * GROUP; i += GROUP) {
            __m512 x = _mm512_loadu_ps(numbers + i);
            __m512 near = _mm512_max_ps(x, _mm512_set1_ps(-4.0f));
            near = _mm512_min_ps(near, _mm512_set1_ps(4.0f));
            __m512 square = _mm512_mul_ps(near, near), sum = _mm512_set1_ps(factors[0]);
            UNROLL for (int f = 1; f < GELU_TERMS; f++)
                sum = _mm512_add_ps(_mm512_mul_ps(sum, square), _mm512_set1_ps(factors[f]));
            sum = _mm512_add_ps(_mm512_mul_ps(sum, near), _mm512_set1_ps(0.5f));
            _mm512_storeu_ps(numbers + i, _mm512_mul_ps(x, sum));
        }
    }
}

#endif
#endif
