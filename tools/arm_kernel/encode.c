/* Embeds rows of token ids without Python, so that a kernel can run in an emulator:
 *
 *     encode WEIGHTS LAYERS HEAD ROWS LEVEL OUTPUT
 *
 * LAYERS is where the layers begin in WEIGHTS. ROWS has the number of texts, where each starts and the last
 * one ends, and all ids, as int32. Writes the vectors and tokens of each two texts, and prints the name of
 * the level. */
#include "kernel.c"

#include <stdio.h>

enum { HEADER_BYTES = 64, AT_ONCE = 2 };

static void *read_whole(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) exit(2);
    size_t bytes = (size_t)ftell(file);
    void *memory = aligned_alloc(64, (bytes / 64 + 1) * 64);
    rewind(file);
    if (!memory || fread(memory, 1, bytes, file) != bytes) exit(2);
    fclose(file);
    return memory;
}

int main(int count, char **given) {
    if (count != 7) return 2;
    const char *weights = read_whole(given[1]), *layers = weights + atol(given[2]);
    const float *head = read_whole(given[3]);
    const int32_t *rows = read_whole(given[4]), texts = rows[0], *starts = rows + 1, *ids = starts + texts + 1;
    int level = atoi(given[5]);
    if (level > minilm_level()) return 4;
    FILE *output = fopen(given[6], "wb");
    if (!output) return 2;
    static float vectors[AT_ONCE * HIDDEN];
    static int8_t tokens[AT_ONCE * POSITIONS * TOKEN];
    for (int first = 0; first < texts; first += AT_ONCE) {
        int some = texts - first < AT_ONCE ? texts - first : AT_ONCE, own[AT_ONCE + 1];
        for (int text = 0; text <= some; text++) own[text] = starts[first + text] - starts[first];
        int done = minilm_embed(weights + HEADER_BYTES, layers, ids + starts[first], own, some, level, 1,
                                vectors, head, tokens);
        if (done != 1) return 3;
        fwrite(vectors, sizeof(float), (size_t)some * HIDDEN, output);
        fwrite(tokens, TOKEN, (size_t)own[some], output);
    }
    puts(minilm_level_name(level));
    return fclose(output) != 0;
}
