/* Attention within one text, in whole numbers so small that float32 sums of them are exact. */
#ifndef MINILM_ATTENTION_H
#define MINILM_ATTENTION_H

#include "products.h"

enum {
    POSITIONS = 256,
    HEADS = 12,
    HEAD = HIDDEN / HEADS,
    QKV = 3 * HIDDEN,
    QUERIES = 4,
    LANE_FLOATS = (HEAD + QUERIES + 2) * POSITIONS,
};

/* Whole steps in attention. A query times a key has at most 700 * 700 * 32, the counts of a row at
 * most 65535 * 256, weights times values at most (16383 + 128) * 1000: all below 2 ** 24. */
static const float KEY_STEPS = 700, VALUE_STEPS = 1000, COUNT_STEPS = 65535, WEIGHT_STEPS = 16383;

/* The work of one lane on one text. */
typedef struct {
    float *keys, *scores, *key_scale, *query_scale;
    int count, padded;
} Work;

/* Attends to a text with one head: its queries, keys and values are written over. */
typedef void AttendHead(const Work *, float *queries, float *target);

/* Rounds the numbers of one head to whole steps. */
INLINE void to_steps(float *head, float steps) {
    for (int i = 0; i < HEAD; i += LANES) {
        Floats numbers = *at(head + i) * steps;
        round_whole(&numbers);
        *at(head + i) = numbers;
    }
}

/* Puts the queries or keys of one head in steps, of a size for each token. */
INLINE void round_each(const Work *work, float *head, float *scale) {
    for (int token = 0; token < work->count; token++, head += QKV) {
        float most = peak(head, HEAD);
        scale[token] = most / KEY_STEPS;
        to_steps(head, steps_in_one(most, KEY_STEPS));
    }
}

/* Copies the keys of one head, one line for each dimension. */
INLINE void turn_keys(const Work *work, const float *keys) {
    for (int token = 0; token < work->count; token++, keys += QKV)
        for (int i = 0; i < HEAD; i++) work->keys[i * work->padded + token] = keys[i];
}

/* Puts the values of one head in steps; returns the size of a step. */
INLINE float round_values(const Work *work, float *values) {
    float most = 0;
    for (int token = 0; token < work->count; token++) {
        float own = peak(values + token * QKV, HEAD);
        most = own > most ? own : most;
    }
    for (int token = 0; token < work->count; token++)
        to_steps(values + token * QKV, steps_in_one(most, VALUE_STEPS));
    return most / VALUE_STEPS;
}

/* The scores of four queries, of tokens `chosen`, against all keys of one head. */
INLINE void score(const Work *work, const float *queries, const int *chosen) {
    for (int token = 0; token < work->padded; token += 2 * LANES) {
        Floats low[QUERIES] = {{0}}, high[QUERIES] = {{0}};
        const float *keys = work->keys + token;
        for (int i = 0; i < HEAD; i++, keys += work->padded)
            UNROLL for (int q = 0; q < QUERIES; q++) {
                low[q] += queries[chosen[q] * QKV + i] * *at(keys);
                high[q] += queries[chosen[q] * QKV + i] * *at(keys + LANES);
            }
        UNROLL for (int q = 0; q < QUERIES; q++) {
            float *scores = work->scores + q * work->padded + token;
            float scale = work->query_scale[chosen[q]];
            *at(scores) = low[q] * scale * *at(work->key_scale + token);
            *at(scores + LANES) = high[q] * scale * *at(work->key_scale + token + LANES);
        }
    }
}

/* Turns the scores of a query into whole weights that sum up to about WEIGHT_STEPS. */
INLINE void soften(const Work *work, float *scores) {
    for (int token = work->count; token < work->padded; token++) scores[token] = -1e30f;
    Floats most = *at(scores), sum = {0};
    for (int token = LANES; token < work->padded; token += LANES)
        raise_to(&most, at(scores + token));
    float peak = greatest(&most);
    for (int token = 0; token < work->padded; token += LANES) {
        Floats counts = *at(scores + token) - peak;
        power_of_two(&counts);
        counts *= COUNT_STEPS;
        round_whole(&counts);
        *at(scores + token) = counts;
        sum += counts;
    }
    float share = WEIGHT_STEPS / total(&sum);
    for (int token = 0; token < work->padded; token += LANES) {
        Floats weights = *at(scores + token) * share;
        round_whole(&weights);
        *at(scores + token) = weights;
    }
}

/* The weighted sums of 16 dimensions of the values, for four queries. */
INLINE void blend(const Work *work, const float *values, float scale, const int *chosen,
                  float *target) {
    Floats low[QUERIES] = {{0}}, high[QUERIES] = {{0}};
    for (int token = 0; token < work->count; token++, values += QKV)
        UNROLL for (int q = 0; q < QUERIES; q++) {
            float weight = work->scores[q * work->padded + token];
            low[q] += weight * *at(values);
            high[q] += weight * *at(values + LANES);
        }
    UNROLL for (int q = 0; q < QUERIES; q++) {
        *at(target + chosen[q] * HIDDEN) = low[q] * (scale / WEIGHT_STEPS);
        *at(target + chosen[q] * HIDDEN + LANES) = high[q] * (scale / WEIGHT_STEPS);
    }
}

/* The next four tokens; the last four may name the last token twice. */
INLINE void choose_queries(const Work *work, int first, int *chosen) {
    for (int q = 0; q < QUERIES; q++)
        chosen[q] = first + q < work->count ? first + q : work->count - 1;
}

/* One head for all tokens, four at a time. */
INLINE void attend_head(const Work *work, float *queries, float *target) {
    float *keys = queries + HIDDEN, *values = keys + HIDDEN;
    round_each(work, queries, work->query_scale);
    round_each(work, keys, work->key_scale);
    turn_keys(work, keys);
    float scale = round_values(work, values);
    for (int first = 0; first < work->count; first += QUERIES) {
        int chosen[QUERIES];
        choose_queries(work, first, chosen);
        score(work, queries, chosen);
        for (int q = 0; q < QUERIES; q++) soften(work, work->scores + q * work->padded);
        for (int i = 0; i < HEAD; i += 2 * LANES)
            blend(work, values + i, scale, chosen, target + i);
    }
}

#endif
