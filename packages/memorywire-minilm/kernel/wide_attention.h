/* Attention as in attention.h, 16 numbers at a time. Sums of whole numbers this small are exact in any
 * order, and all else is done to each number by itself: the bits are the same. */
#ifndef MINILM_WIDE_ATTENTION_H
#define MINILM_WIDE_ATTENTION_H

#include "attention.h"

#if defined(__x86_64__)

/* Steps of queries and keys fit into 16 bits, so two of them are multiplied at once. */
enum { PAIRS = HEAD / 2 };

/* Puts one token's query or key in whole steps; notes their size. */
VNNI INLINE __m512i wide_steps(const float *head, float *scale) {
    __m512 low = _mm512_loadu_ps(head), high = _mm512_loadu_ps(head + GROUP);
    float most = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    __m512 steps = _mm512_set1_ps(steps_in_one(most, KEY_STEPS));
    *scale = most / KEY_STEPS;
    __m512i first = _mm512_cvtps_epi32(_mm512_mul_ps(low, steps));
    __m512i second = _mm512_cvtps_epi32(_mm512_mul_ps(high, steps));
    __m512i both = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(first));
    return _mm512_inserti64x4(both, _mm512_cvtepi32_epi16(second), 1);
}

/* Puts the queries of one head in steps, in their place. */
VNNI INLINE void wide_queries(const Work *work, float *queries) {
    for (int token = 0; token < work->count; token++, queries += QKV)
        _mm512_storeu_si512(queries, wide_steps(queries, work->query_scale + token));
}

/* Puts the keys of one head in steps, one line for each pair of dimensions. */
VNNI INLINE void wide_keys(const Work *work, const float *keys) {
    int32_t *lines = (int32_t *)work->keys, pairs[PAIRS];
    for (int token = 0; token < work->count; token++, keys += QKV) {
        _mm512_storeu_si512(pairs, wide_steps(keys, work->key_scale + token));
        for (int i = 0; i < PAIRS; i++) lines[i * work->padded + token] = pairs[i];
    }
}

/* `round_values` */
VNNI INLINE float wide_values(const Work *work, float *values) {
    __m512 sizes = _mm512_setzero_ps(), rounder = _mm512_set1_ps(ROUNDER);
    for (int token = 0; token < work->count; token++)
        for (int i = 0; i < HEAD; i += GROUP)
            sizes = _mm512_max_ps(sizes, _mm512_abs_ps(_mm512_loadu_ps(values + token * QKV + i)));
    float most = _mm512_reduce_max_ps(sizes);
    __m512 steps = _mm512_set1_ps(steps_in_one(most, VALUE_STEPS));
    for (int token = 0; token < work->count; token++)
        for (int i = 0; i < HEAD; i += GROUP) {
            float *numbers = values + token * QKV + i;
            __m512 shifted = _mm512_mul_ps(_mm512_loadu_ps(numbers), steps);
            shifted = _mm512_add_ps(shifted, rounder);
            _mm512_storeu_ps(numbers, _mm512_sub_ps(shifted, rounder));
        }
    return most / VALUE_STEPS;
}

/* `score` */
VNNI INLINE void wide_score(const Work *work, const float *queries, const int *chosen) {
    for (int token = 0; token < work->padded; token += GROUP) {
        WideInts sums[QUERIES] = {{0}};
        const int32_t *keys = (const int32_t *)work->keys + token;
        for (int i = 0; i < PAIRS; i++, keys += work->padded) {
            __m512i key = _mm512_loadu_si512(keys);
            UNROLL for (int q = 0; q < QUERIES; q++) {
                __m512i query = _mm512_set1_epi32(((const int32_t *)(queries + chosen[q] * QKV))[i]);
                sums[q] = (WideInts)_mm512_dpwssd_epi32((__m512i)sums[q], query, key);
            }
        }
        int left = work->count - token;
        __mmask16 inside = left < GROUP ? (1 << left) - 1 : -1;
        __m512 scale = _mm512_loadu_ps(work->key_scale + token), beyond = _mm512_set1_ps(-1e30f);
        UNROLL for (int q = 0; q < QUERIES; q++) {
            __m512 numbers = _mm512_cvtepi32_ps((__m512i)sums[q]);
            numbers = _mm512_mul_ps(numbers, _mm512_set1_ps(work->query_scale[chosen[q]]));
            numbers = _mm512_mask_mul_ps(beyond, inside, numbers, scale);
            _mm512_storeu_ps(work->scores + q * work->padded + token, numbers);
        }
    }
}

/* `power_of_two` */
VNNI INLINE __m512 wide_power_of_two(__m512 x) {
    static const float factors[] = POWER_FACTORS;
    __m512 rounder = _mm512_set1_ps(ROUNDER), sum = _mm512_set1_ps(factors[0]);
    x = _mm512_max_ps(x, _mm512_set1_ps(-126.0f));
    __m512 shifted = _mm512_add_ps(x, rounder);
    __m512 rest = _mm512_sub_ps(x, _mm512_sub_ps(shifted, rounder));
    UNROLL for (int f = 1; f < POWER_TERMS; f++)
        sum = _mm512_add_ps(_mm512_mul_ps(sum, rest), _mm512_set1_ps(factors[f]));
    __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(sum), exponent));
}

/* `soften`, of four queries: their chains of steps run beside each other. */
VNNI INLINE void wide_soften(const Work *work) {
    __m512 rounder = _mm512_set1_ps(ROUNDER), steps = _mm512_set1_ps(COUNT_STEPS);
    __m512 most[QUERIES], sum[QUERIES], share[QUERIES];
    UNROLL for (int q = 0; q < QUERIES; q++) {
        most[q] = _mm512_loadu_ps(work->scores + q * work->padded);
        sum[q] = _mm512_setzero_ps();
    }
    for (int token = GROUP; token < work->padded; token += GROUP)
        UNROLL for (int q = 0; q < QUERIES; q++)
            most[q] = _mm512_max_ps(most[q], _mm512_loadu_ps(work->scores + q * work->padded + token));
    UNROLL for (int q = 0; q < QUERIES; q++) most[q] = _mm512_set1_ps(_mm512_reduce_max_ps(most[q]));
    for (int token = 0; token < work->padded; token += GROUP)
        UNROLL for (int q = 0; q < QUERIES; q++) {
            float *scores = work->scores + q * work->padded + token;
            __m512 counts = _mm512_sub_ps(_mm512_loadu_ps(scores), most[q]);
            counts = _mm512_mul_ps(wide_power_of_two(counts), steps);
            counts = _mm512_sub_ps(_mm512_add_ps(counts, rounder), rounder);
            _mm512_storeu_ps(scores, counts);
            sum[q] = _mm512_add_ps(sum[q], counts);
        }
    UNROLL for (int q = 0; q < QUERIES; q++)
        share[q] = _mm512_set1_ps(WEIGHT_STEPS / _mm512_reduce_add_ps(sum[q]));
    for (int token = 0; token < work->padded; token += GROUP)
        UNROLL for (int q = 0; q < QUERIES; q++) {
            float *scores = work->scores + q * work->padded + token;
            __m512 weights = _mm512_mul_ps(_mm512_loadu_ps(scores), share[q]);
            _mm512_storeu_ps(scores, _mm512_sub_ps(_mm512_add_ps(weights, rounder), rounder));
        }
}

/* `blend`, of all dimensions. */
VNNI INLINE void wide_blend(const Work *work, const float *values, float scale, const int *chosen,
                            float *target) {
    __m512 low[QUERIES], high[QUERIES], size = _mm512_set1_ps(scale / WEIGHT_STEPS);
    UNROLL for (int q = 0; q < QUERIES; q++) low[q] = high[q] = _mm512_setzero_ps();
    for (int token = 0; token < work->count; token++, values += QKV)
        UNROLL for (int q = 0; q < QUERIES; q++) {
            __m512 weight = _mm512_set1_ps(work->scores[q * work->padded + token]);
            low[q] = _mm512_fmadd_ps(weight, _mm512_loadu_ps(values), low[q]);
            high[q] = _mm512_fmadd_ps(weight, _mm512_loadu_ps(values + GROUP), high[q]);
        }
    UNROLL for (int q = 0; q < QUERIES; q++) {
        _mm512_storeu_ps(target + chosen[q] * HIDDEN, _mm512_mul_ps(low[q], size));
        _mm512_storeu_ps(target + chosen[q] * HIDDEN + GROUP, _mm512_mul_ps(high[q], size));
    }
}

VNNI static void vnni_attend_head(const Work *work, float *queries, float *target) {
    float *keys = queries + HIDDEN, *values = keys + HIDDEN;
    wide_queries(work, queries);
    wide_keys(work, keys);
    float scale = wide_values(work, values);
    for (int first = 0; first < work->count; first += QUERIES) {
        int chosen[QUERIES];
        choose_queries(work, first, chosen);
        wide_score(work, queries, chosen);
        wide_soften(work);
        wide_blend(work, values, scale, chosen, target);
    }
}

#endif
#endif
