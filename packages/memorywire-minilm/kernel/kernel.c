/* The MiniLM encoder for a few texts: token ids in, a vector of length one for each out.
 *
 * Theory of operation
 *
 * What must hold: a text's vector depends on the text alone. Not on the texts embedded with it, the
 * number of threads, the instruction set (plain C, AVX2, AVX-512 VNNI, NEON) or the language (portable.py
 * does the same in numpy): all give the same bits. Stores compare vectors across machines, and a
 * search must rank alike on each of them.
 *
 * How: matrices have 8-bit weights with one scale for each output. The rows they are applied to are
 * quantised to 8 bits, each between its own least and greatest number, so a row needs no other.
 * Products are then sums of whole numbers, which are exact in any order. Attention multiplies whole
 * numbers so small that float32 sums of them are exact as well. Everything else (normalisation,
 * softmax, GELU) is float32 in a fixed order of operations, without fused multiply-add (setup.py).
 *
 * Two threads: an encoding is cut into STAGES, each into pieces that do not need each other. The
 * caller and one helper (helper.h) take the next pieces with one atomic step. The caller never waits
 * for a helper that sleeps. 12 tokens take 0.72 ms on one processor and 0.44 ms on two.
 *
 * What was tried: onnxruntime, 69 MB and slower to start, whose dynamic quantisation gave a text
 * another vector in another batch (decision 5); stacking the texts of several callers, which saves
 * nothing, because a token costs the same alone and in company (decision 15); a helper that spins
 * between questions, which is faster but takes a processor from others (decision 29).
 *
 * layout.py describes the weights file.
 */
#define _GNU_SOURCE /* for what the helper asks of Linux */
#include <stdlib.h>

#include "helper.h"
#include "neon.h"
#include "wide_attention.h"

enum { VOCABULARY = 30522, LAYERS = 6, MOST_KEPT = 1 << 18, MOST_TEXTS = 1024 };

/* A token's direction is kept in so many numbers of one byte. */
enum { TOKEN = 64, TOKEN_STEPS = 127 };

#if defined(__aarch64__)
enum { PLAIN_LEVEL, NEON_LEVEL, DOTPROD_LEVEL, I8MM_LEVEL };
#else
enum { PLAIN_LEVEL, AVX2_LEVEL, VNNI_LEVEL };
#endif

typedef struct {
    const float *weight, *bias;
} Norm;

typedef struct {
    Matrix qkv, attended, inner, outer;
    Norm attended_norm, outer_norm;
} Layer;

/* The tokens of all texts lie one after the other; `wide` holds INNER or QKV numbers for each. */
typedef struct {
    const int32_t *ids, *starts; /* of each text's tokens, and where the last text ends */
    int texts, count;
    const int8_t *words;
    const float *word_scale, *positions;
    Norm norm;
    Layer layers[LAYERS];
    float *rows, *narrow, *wide;
    Quantised quantised;
    Work lanes[2];
} Call;

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

/* ---- the encoder ---- */

/* What is done with a layer's rows, one stage after the other. Each has pieces that do not need
 * each other: heads, rows of tokens, or groups of outputs. */
enum {
    TO_QKV,
    ATTEND,
    AFTER_HEADS,
    TO_ATTENDED,
    AFTER_ATTENDED,
    TO_INNER,
    AFTER_INNER,
    TO_OUTER,
    AFTER_OUTER,
    STEPS,
};

/* The arithmetic of an instruction set. */
typedef struct {
    Product *product;
    Quantise *quantise;
    Gelu *gelu;
    AttendHead *attend_head;
} Means;

/* The first stage looks the tokens up; then every layer has its steps. */
enum { STAGES = 1 + LAYERS * STEPS };

static int count_pieces(const void *counted, int stage) {
    const Call *call = counted;
    if (stage == 0) return call->count;
    switch ((stage - 1) % STEPS) {
        case TO_QKV: return QKV / GROUP;
        case ATTEND: return call->texts * HEADS;
        case TO_INNER: return INNER / GROUP;
        case TO_ATTENDED: case TO_OUTER: return HIDDEN / GROUP;
        default: return call->count;
    }
}

INLINE void look_up(const Call *call, int first, int last) {
    int text = 0;
    for (int token = first; token < last; token++) {
        while (call->starts[text + 1] <= token) text++;
        const float *position = call->positions + (token - call->starts[text]) * HIDDEN;
        const int8_t *word = call->words + (size_t)call->ids[token] * HIDDEN;
        float *row = call->rows + token * HIDDEN, scale = call->word_scale[call->ids[token]];
        for (int i = 0; i < HIDDEN; i++) row[i] = word[i] * scale + position[i];
        normalise(row, HIDDEN, call->norm.weight, call->norm.bias);
    }
}

INLINE void attend(const Call *call, int first, int last, const Work *lane,
                   AttendHead *attend_head) {
    for (int piece = first; piece < last; piece++) {
        int text = piece / HEADS, column = piece % HEADS * HEAD, start = call->starts[text];
        Work work = *lane;
        work.count = call->starts[text + 1] - start;
        work.padded = (work.count + 15) / 16 * 16;
        attend_head(&work, call->wide + start * QKV + column,
                    call->narrow + start * HIDDEN + column);
    }
}

INLINE void add_and_normalise(const Call *call, const Norm *norm, int first, int last) {
    for (int token = first; token < last; token++) {
        float *row = call->rows + token * HIDDEN, *more = call->narrow + token * HIDDEN;
        for (int i = 0; i < HIDDEN; i += LANES) *at(row + i) += *at(more + i);
        normalise(row, HIDDEN, norm->weight, norm->bias);
    }
}

INLINE void do_pieces(const Call *call, int stage, int first, int last, const Work *lane,
                      const Means *means) {
    const Quantised *quantised = &call->quantised;
    int count = call->count;
    if (stage == 0) {
        look_up(call, first, last);
        means->quantise(call->rows, first, last, HIDDEN, quantised);
        return;
    }
    const Layer *layer = &call->layers[(stage - 1) / STEPS];
    switch ((stage - 1) % STEPS) {
        case TO_QKV: means->product(&layer->qkv, quantised, count, first, last, call->wide); break;
        case ATTEND: attend(call, first, last, lane, means->attend_head); break;
        case AFTER_HEADS: means->quantise(call->narrow, first, last, HIDDEN, quantised); break;
        case TO_ATTENDED:
            means->product(&layer->attended, quantised, count, first, last, call->narrow);
            break;
        case AFTER_ATTENDED:
            add_and_normalise(call, &layer->attended_norm, first, last);
            means->quantise(call->rows, first, last, HIDDEN, quantised);
            break;
        case TO_INNER:
            means->product(&layer->inner, quantised, count, first, last, call->wide);
            means->gelu(call->wide, count, first, last, INNER);
            break;
        case AFTER_INNER: means->quantise(call->wide, first, last, INNER, quantised); break;
        case TO_OUTER:
            means->product(&layer->outer, quantised, count, first, last, call->narrow);
            break;
        case AFTER_OUTER:
            add_and_normalise(call, &layer->outer_norm, first, last);
            means->quantise(call->rows, first, last, HIDDEN, quantised);
            break;
    }
}

static void plain_quantise(const float *rows, int first, int last, int width,
                           const Quantised *target) {
    quantise(rows, first, last, width, target);
}

static void plain_gelu(float *rows, int count, int first, int last, int width) {
    gelu_groups(rows, count, first, last, width);
}

static void plain_attend_head(const Work *work, float *queries, float *target) {
    attend_head(work, queries, target);
}

static void plain_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {plain_product, plain_quantise, plain_gelu, plain_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

#if defined(__x86_64__)
AVX2 static void avx2_quantise(const float *rows, int first, int last, int width,
                               const Quantised *target) {
    quantise(rows, first, last, width, target);
}

AVX2 static void avx2_gelu(float *rows, int count, int first, int last, int width) {
    gelu_groups(rows, count, first, last, width);
}

AVX2 static void avx2_attend_head(const Work *work, float *queries, float *target) {
    attend_head(work, queries, target);
}

AVX2 static void avx2_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {avx2_product, avx2_quantise, avx2_gelu, avx2_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

VNNI static void vnni_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {vnni_product, vnni_quantise, vnni_gelu, vnni_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

static Pieces *const LEVELS[] = {plain_pieces, avx2_pieces, vnni_pieces};
static const char *const NAMES[] = {"c", "avx2", "avx512-vnni"};
#elif defined(__aarch64__)
static void neon_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {neon_product, plain_quantise, plain_gelu, plain_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

static void dotprod_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {dotprod_product, plain_quantise, plain_gelu, plain_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

static void i8mm_pieces(void *call, int stage, int first, int last, int lane) {
    static const Means means = {i8mm_product, plain_quantise, plain_gelu, plain_attend_head};
    do_pieces(call, stage, first, last, &((Call *)call)->lanes[lane], &means);
}

static Pieces *const LEVELS[] = {plain_pieces, neon_pieces, dotprod_pieces, i8mm_pieces};
static const char *const NAMES[] = {"c", "neon", "neon-dotprod", "neon-i8mm"};
#else
static Pieces *const LEVELS[] = {plain_pieces};
static const char *const NAMES[] = {"c"};
#endif

/* The direction of the sum of a text's rows. */
static void pool(const float *rows, int count, float *vector) {
    Floats squares = {0};
    for (int i = 0; i < HIDDEN; i += LANES) {
        Floats sum = {0};
        for (int token = 0; token < count; token++) sum += *at(rows + token * HIDDEN + i);
        *at(vector + i) = sum;
        squares += sum * sum;
    }
    float shrink = 1.0f / sqrtf(total(&squares));
    for (int i = 0; i < HIDDEN; i += LANES) *at(vector + i) *= shrink;
}

/* The directions of rows, reduced by the `head` to TOKEN bytes each. Sums go from the first input to
 * the last, whatever the instruction set, so that portable.py gets the same bits. */
INLINE void project(const float *rows, int count, const float *head, int8_t *tokens) {
    for (int token = 0; token < count; token++, rows += HIDDEN, tokens += TOKEN) {
        Floats outputs[TOKEN / LANES] = {0}, squares = {0};
        for (int i = 0; i < HIDDEN; i++) {
            const float *line = head + i * TOKEN;
            UNROLL for (int out = 0; out < TOKEN / LANES; out++)
                outputs[out] += *at(line + out * LANES) * rows[i];
        }
        UNROLL for (int out = 0; out < TOKEN / LANES; out++) squares += outputs[out] * outputs[out];
        float length = sqrtf(total(&squares)), rate = length > 0 ? TOKEN_STEPS / length : 0;
        for (int out = 0; out < TOKEN / LANES; out++) {
            Floats steps = outputs[out] * rate;
            round_whole(&steps);
            for (int lane = 0; lane < LANES; lane++) tokens[out * LANES + lane] = (int8_t)steps[lane];
        }
    }
}

static void plain_project(const float *rows, int count, const float *head, int8_t *tokens) {
    project(rows, count, head, tokens);
}

#if defined(__x86_64__)
AVX2 static void avx2_project(const float *rows, int count, const float *head, int8_t *tokens) {
    project(rows, count, head, tokens);
}
#endif

static void encode(const Stages *stages, int called) {
    if (called)
        lead_to_the_end();
    else
        for (int stage = 0; stage < stages->end; stage++)
            stages->pieces(stages->call, stage, 0, stages->count(stages->call, stage), 0);
    let_helper_go(called);
}

/* ---- what Python calls ---- */

/* The best level this machine can run; it can run those below, too. */
int minilm_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int vnni = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!__builtin_cpu_supports("avx2")) return PLAIN_LEVEL;
    return vnni ? VNNI_LEVEL : AVX2_LEVEL;
#elif defined(__aarch64__)
    return has_i8mm() ? I8MM_LEVEL : has_dotprod() ? DOTPROD_LEVEL : NEON_LEVEL;
#else
    return PLAIN_LEVEL;
#endif
}

/* What the level is called, or NULL when there is no such level. */
const char *minilm_level_name(int level) {
    return level < 0 || level >= (int)(sizeof NAMES / sizeof *NAMES) ? NULL : NAMES[level];
}

static void open_table(Call *call, const char *table) {
    call->words = take(&table, (size_t)VOCABULARY * HIDDEN);
    call->word_scale = take(&table, VOCABULARY * sizeof(float));
    call->positions = take(&table, POSITIONS * HIDDEN * sizeof(float));
    call->norm = take_norm(&table);
}

/* Memory of calls that are over, for the next: fresh pages take time. */
typedef struct {
    size_t floats;
    float start[] __attribute__((aligned(64)));
} Memory;

static Memory *spare;

/* Lanes past a text's last token are read, and then overruled: they may be any numbers. */
static Memory *take_memory(size_t floats) {
    Memory *memory = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);
    if (memory && memory->floats >= floats) return memory;
    free(memory);
    size_t bytes = sizeof(Memory) + floats * sizeof(float);
    if (posix_memalign((void **)&memory, 64, bytes)) return NULL;
    memory->floats = floats;
    memset(memory->start, 0, 2 * LANE_FLOATS * sizeof(float));
    return memory;
}

static void leave_memory(Memory *memory) {
    if (memory->floats <= MOST_KEPT) memory = __atomic_exchange_n(&spare, memory, __ATOMIC_ACQ_REL);
    free(memory);
}

static void share_memory(Call *call, float *memory) {
    size_t count = call->count;
    for (int lane = 0; lane < 2; lane++, memory += LANE_FLOATS) {
        call->lanes[lane].keys = memory;
        call->lanes[lane].scores = memory + HEAD * POSITIONS;
        call->lanes[lane].key_scale = call->lanes[lane].scores + QUERIES * POSITIONS;
        call->lanes[lane].query_scale = call->lanes[lane].key_scale + POSITIONS;
    }
    call->rows = memory;
    call->narrow = call->rows + count * HIDDEN;
    call->wide = call->narrow + count * HIDDEN;
    call->quantised.steps = (uint8_t *)(call->wide + count * INNER);
    call->quantised.size = call->wide + count * INNER + count * INNER / sizeof(float);
    call->quantised.middle = call->quantised.size + count;
}

typedef struct {
    Call call;
    Memory *memory;
    int level;
} Job;

/* Whether a call stays inside its arrays: every text has 1 to POSITIONS tokens, and every token is
 * in the table. A caller that is wrong about one of them would read or write the memory of others. */
static int is_sound(const char *table, const char *layers, const int32_t *ids,
                    const int32_t *starts, int texts, int level) {
    if (!table || !layers || !ids || !starts) return 0;
    if (texts < 1 || texts > MOST_TEXTS || level < 0 || level > minilm_level()) return 0;
    if (starts[0] != 0) return 0;
    for (int text = 0; text < texts; text++) {
        int64_t count = (int64_t)starts[text + 1] - starts[text];
        if (count < 1 || count > POSITIONS) return 0;
    }
    for (int token = 0; token < starts[texts]; token++)
        if (ids[token] < 0 || ids[token] >= VOCABULARY) return 0;
    return 1;
}

static int prepare(Job *job, const char *table, const char *layers, const int32_t *ids,
                   const int32_t *starts, int texts, int level) {
    Call *call = &job->call;
    job->level = level;
    *call = (Call){.ids = ids, .starts = starts, .texts = texts, .count = starts[texts]};
    size_t for_each = 2 * HIDDEN + INNER + INNER / sizeof(float) + 2;
    job->memory = take_memory(2 * LANE_FLOATS + call->count * for_each);
    if (!job->memory) return 0;
    open_table(call, table);
    for (int index = 0; index < LAYERS; index++) call->layers[index] = take_layer(&layers);
    share_memory(call, job->memory->start);
    return 1;
}

static void conclude(Job *job, float *vectors, const float *head, int8_t *tokens) {
    const Call *call = &job->call;
    if (head && tokens) {
#if defined(__x86_64__)
        if (job->level >= AVX2_LEVEL)
            avx2_project(call->rows, call->count, head, tokens);
        else
#endif
            plain_project(call->rows, call->count, head, tokens);
    }
    for (int text = 0; text < call->texts; text++) {
        int start = call->starts[text];
        pool(call->rows + start * HIDDEN, call->starts[text + 1] - start, vectors + text * HIDDEN);
    }
    leave_memory(job->memory);
}

/* Writes 384 numbers for each text, and with a `head` TOKEN bytes for each token. `table` is where the tokens' vectors begin in a weights file,
 * and `layers` where the layers do; the tokens of a text, 1 to 256, are `ids` from its start to the
 * next. With two or more `processors` a helper may take part. Returns 0 when there is no memory,
 * and -1, doing nothing, for arguments that are out of bounds. */
int minilm_embed(const char *table, const char *layers, const int32_t *ids, const int32_t *starts,
                 int texts, int level, int processors, float *vectors, const float *head,
                 int8_t *tokens) {
    if (!vectors || !is_sound(table, layers, ids, starts, texts, level)) return -1;
    Job job;
    if (!prepare(&job, table, layers, ids, starts, texts, level)) return 0;
    Stages stages = {LEVELS[level], count_pieces, &job.call, 0, STAGES};
    encode(&stages, call_helper(&stages, CALLER, processors));
    conclude(&job, vectors, head, tokens);
    return 1;
}

/* The same in two steps: the helper begins, and goes on while the caller does other things, until
 * `minilm_finish`, which every job needs. `ids` and `starts` must last until then. Returns no job
 * when the helper cannot come, or for arguments that are out of bounds. */
void *minilm_begin(const char *table, const char *layers, const int32_t *ids, const int32_t *starts,
                   int texts, int level, int processors) {
    if (!is_sound(table, layers, ids, starts, texts, level)) return NULL;
    Job *job = malloc(sizeof(Job));
    if (!job || !prepare(job, table, layers, ids, starts, texts, level)) {
        free(job);
        return NULL;
    }
    Stages stages = {LEVELS[level], count_pieces, &job->call, 0, STAGES};
    if (call_helper(&stages, NOBODY, processors)) return job;
    let_helper_go(0);
    leave_memory(job->memory);
    free(job);
    return NULL;
}

void minilm_finish(void *begun, float *vectors, const float *head, int8_t *tokens) {
    Job *job = begun;
    if (!job || !vectors) return;
    lead_to_the_end();
    let_helper_go(1);
    conclude(job, vectors, head, tokens);
    free(job);
}
