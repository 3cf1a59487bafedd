/* The MiniLM encoder for one text: token ids in, a vector of length one out.
 *
 * Matrices have 8-bit weights with one scale for each output. The rows they are applied to are
 * quantised to 8 bits, each between its own least and greatest number, so a text's vector depends on nothing but the
 * text. Attention multiplies whole numbers so small that float32 sums of them are exact. All else
 * is float32 in a fixed order: every instruction set, and portable.py in numpy, give the same bits.
 * layout.py describes the weights file.
 */
#include <stdlib.h>

#include "products.h"

enum {
    VOCABULARY = 30522,
    POSITIONS = 256,
    HIDDEN = 384,
    INNER = 1536,
    LAYERS = 6,
    HEADS = 12,
    HEAD = HIDDEN / HEADS,
    QKV = 3 * HIDDEN,
    QUERIES = 4,
};

/* Whole steps in attention. A query times a key has at most 700 * 700 * 32, the counts of a row at
 * most 65535 * 256, weights times values at most (16383 + 128) * 1000: all below 2 ** 24. */
static const float KEY_STEPS = 700, VALUE_STEPS = 1000, COUNT_STEPS = 65535, WEIGHT_STEPS = 16383;

enum { PLAIN_LEVEL, AVX2_LEVEL, VNNI_LEVEL };

typedef struct {
    const float *weight, *bias;
} Norm;

typedef struct {
    Matrix qkv, attended, inner, outer;
    Norm attended_norm, outer_norm;
} Layer;

/* The memory of one call; `wide` holds INNER or QKV numbers for each token. */
typedef struct {
    float *rows, *narrow, *wide;
    float *keys, *scores, *key_scale, *query_scale;
    Quantised quantised;
    int count, padded;
} Work;

/* ---- the weights ---- */

static const void *take(const char **at, size_t bytes) {
    const char *start = *at;
    *at += (bytes + 63) / 64 * 64;
    return start;
}

static Matrix take_matrix(const char **at, int outputs, int inputs) {
    Matrix matrix = {.outputs = outputs, .inputs = inputs};
    matrix.lines = take(at, (size_t)outputs * inputs);
    matrix.scale = take(at, outputs * sizeof(float));
    matrix.bias = take(at, outputs * sizeof(float));
    matrix.sum = take(at, outputs * sizeof(int32_t));
    return matrix;
}

static Norm take_norm(const char **at) {
    Norm norm;
    norm.weight = take(at, HIDDEN * sizeof(float));
    norm.bias = take(at, HIDDEN * sizeof(float));
    return norm;
}

static Layer take_layer(const char **at) {
    Layer layer;
    layer.qkv = take_matrix(at, QKV, HIDDEN);
    layer.attended = take_matrix(at, HIDDEN, HIDDEN);
    layer.attended_norm = take_norm(at);
    layer.inner = take_matrix(at, INNER, HIDDEN);
    layer.outer = take_matrix(at, HIDDEN, INNER);
    layer.outer_norm = take_norm(at);
    return layer;
}

/* ---- attention ---- */

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

/* One head for all tokens, four at a time; the last four may name the last token twice. */
INLINE void attend_head(const Work *work, float *queries, float *target) {
    float *keys = queries + HIDDEN, *values = keys + HIDDEN;
    round_each(work, queries, work->query_scale);
    round_each(work, keys, work->key_scale);
    turn_keys(work, keys);
    float scale = round_values(work, values);
    for (int first = 0; first < work->count; first += QUERIES) {
        int chosen[QUERIES];
        for (int q = 0; q < QUERIES; q++)
            chosen[q] = first + q < work->count ? first + q : work->count - 1;
        score(work, queries, chosen);
        for (int q = 0; q < QUERIES; q++) soften(work, work->scores + q * work->padded);
        for (int i = 0; i < HEAD; i += 2 * LANES)
            blend(work, values + i, scale, chosen, target + i);
    }
}

/* ---- the encoder ---- */

INLINE void add_and_normalise(const Work *work, const Norm *norm) {
    for (int token = 0; token < work->count; token++) {
        float *row = work->rows + token * HIDDEN, *more = work->narrow + token * HIDDEN;
        for (int i = 0; i < HIDDEN; i += LANES) *at(row + i) += *at(more + i);
        normalise(row, HIDDEN, norm->weight, norm->bias);
    }
}

INLINE void apply(const Layer *layer, const Work *work, Product *product) {
    const Quantised *quantised = &work->quantised;
    int count = work->count;
    quantise(work->rows, count, HIDDEN, quantised);
    product(&layer->qkv, quantised, count, work->wide);
    for (int head = 0; head < HIDDEN; head += HEAD)
        attend_head(work, work->wide + head, work->narrow + head);
    quantise(work->narrow, count, HIDDEN, quantised);
    product(&layer->attended, quantised, count, work->narrow);
    add_and_normalise(work, &layer->attended_norm);
    quantise(work->rows, count, HIDDEN, quantised);
    product(&layer->inner, quantised, count, work->wide);
    gelu(work->wide, count * INNER);
    quantise(work->wide, count, INNER, quantised);
    product(&layer->outer, quantised, count, work->narrow);
    add_and_normalise(work, &layer->outer_norm);
}

/* Looks the tokens up; leaves `weights` at the first layer. */
INLINE void look_up(const char **weights, const int32_t *ids, const Work *work) {
    const int8_t *words = take(weights, (size_t)VOCABULARY * HIDDEN);
    const float *scale = take(weights, VOCABULARY * sizeof(float));
    const float *position = take(weights, POSITIONS * HIDDEN * sizeof(float));
    Norm norm = take_norm(weights);
    float *row = work->rows;
    for (int token = 0; token < work->count; token++, row += HIDDEN, position += HIDDEN) {
        const int8_t *word = words + (size_t)ids[token] * HIDDEN;
        for (int i = 0; i < HIDDEN; i++) row[i] = word[i] * scale[ids[token]] + position[i];
        normalise(row, HIDDEN, norm.weight, norm.bias);
    }
}

/* The direction of the sum of all rows. */
INLINE void pool(const Work *work, float *vector) {
    Floats squares = {0};
    for (int i = 0; i < HIDDEN; i += LANES) {
        Floats sum = {0};
        for (int token = 0; token < work->count; token++)
            sum += *at(work->rows + token * HIDDEN + i);
        *at(vector + i) = sum;
        squares += sum * sum;
    }
    float shrink = 1.0f / sqrtf(total(&squares));
    for (int i = 0; i < HIDDEN; i += LANES) *at(vector + i) *= shrink;
}

INLINE void encode(const char *weights, const int32_t *ids, const Work *work, float *vector,
                   Product *product) {
    look_up(&weights, ids, work);
    for (int index = 0; index < LAYERS; index++) {
        Layer layer = take_layer(&weights);
        apply(&layer, work, product);
    }
    pool(work, vector);
}

typedef void Encoder(const char *, const int32_t *, const Work *, float *);

static void plain_encode(const char *weights, const int32_t *ids, const Work *work, float *vector) {
    encode(weights, ids, work, vector, plain_product);
}

#if defined(__x86_64__)
AVX2 static void avx2_encode(const char *weights, const int32_t *ids, const Work *work,
                             float *vector) {
    encode(weights, ids, work, vector, avx2_product);
}

VNNI static void vnni_encode(const char *weights, const int32_t *ids, const Work *work,
                             float *vector) {
    encode(weights, ids, work, vector, vnni_product);
}

static Encoder *const ENCODERS[] = {plain_encode, avx2_encode, vnni_encode};
#else
static Encoder *const ENCODERS[] = {plain_encode};
#endif

/* ---- what Python calls ---- */

/* The best level this machine can run; it can run those below, too. */
int minilm_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int vnni = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!__builtin_cpu_supports("avx2")) return PLAIN_LEVEL;
    return vnni ? VNNI_LEVEL : AVX2_LEVEL;
#else
    return PLAIN_LEVEL;
#endif
}

/* Writes the 384 numbers of the vector. `weights` is a whole file without its 64-byte header;
 * `count` is 1 to 256. Returns 0 when there is no memory. */
int minilm_embed(const char *weights, const int32_t *ids, int count, int level, float *vector) {
    size_t shared = (HEAD + QUERIES + 4) * POSITIONS;
    size_t floats = (size_t)count * (2 * HIDDEN + INNER) + shared;
    float *memory = malloc(floats * sizeof(float) + (size_t)count * INNER);
    if (!memory) return 0;
    Work work = {.count = count, .padded = (count + 15) / 16 * 16};
    work.keys = memory;
    work.scores = work.keys + HEAD * POSITIONS;
    work.key_scale = work.scores + QUERIES * POSITIONS;
    work.query_scale = work.key_scale + POSITIONS;
    work.quantised.size = work.query_scale + POSITIONS;
    work.quantised.middle = work.quantised.size + POSITIONS;
    work.rows = memory + shared;
    work.narrow = work.rows + count * HIDDEN;
    work.wide = work.narrow + count * HIDDEN;
    work.quantised.steps = (uint8_t *)(work.wide + count * INNER);
    /* Lanes past the last token are read, and then overruled. */
    memset(work.keys, 0, shared * sizeof(float));
    ENCODERS[level](weights, ids, &work, vector);
    free(memory);
    return 1;
}
