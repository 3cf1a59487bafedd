/* Float32 arithmetic, 8 numbers at a time, that rounds alike on every machine. */
#ifndef MINILM_LANES_H
#define MINILM_LANES_H

#include <math.h>
#include <stdint.h>

/* Inlined into one caller for each instruction set, and compiled for it there. */
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8 };

/* So that short arrays of sums are registers. */
#define UNROLL _Pragma("GCC unroll 24")

typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(8), aligned(1), may_alias));

INLINE Floats *at(const float *numbers) { return (Floats *)numbers; }

INLINE float total(const Floats *lanes) {
    float sum = (*lanes)[0];
    for (int lane = 1; lane < LANES; lane++) sum += (*lanes)[lane];
    return sum;
}

INLINE float greatest(const Floats *lanes) {
    float most = (*lanes)[0];
    for (int lane = 1; lane < LANES; lane++) most = (*lanes)[lane] > most ? (*lanes)[lane] : most;
    return most;
}

/* Raises each number that is below its `least` to it. */
INLINE void raise_to(Floats *numbers, const Floats *least) {
    Ints keep = *numbers > *least;
    *numbers = (Floats)(((Ints)*numbers & keep) | ((Ints)*least & ~keep));
}

INLINE void clamp(Floats *numbers, float least, float most) {
    Floats low = *numbers * 0 + least, high = *numbers * 0 - most;
    raise_to(numbers, &low);
    *numbers = -*numbers;
    raise_to(numbers, &high);
    *numbers = -*numbers;
}

/* Adding this to a small number rounds it to a whole one, ties to even, in the lowest bits. */
static const float ROUNDER = 12582912.0f;

INLINE void round_whole(Floats *numbers) { *numbers = (*numbers + ROUNDER) - ROUNDER; }

/* The greatest size of a number in a row. */
INLINE float peak(const float *row, int width) {
    Floats most = {0};
    for (int i = 0; i < width; i += LANES) {
        Floats size = (Floats)((Ints)*at(row + i) & 0x7fffffff);
        raise_to(&most, &size);
    }
    return greatest(&most);
}

/* The least and the greatest number in a row. */
INLINE void bounds(const float *row, int width, float *least, float *most) {
    Floats high = *at(row), low = -high;
    for (int i = LANES; i < width; i += LANES) {
        Floats negated = -*at(row + i);
        raise_to(&high, at(row + i));
        raise_to(&low, &negated);
    }
    *least = -greatest(&low);
    *most = greatest(&high);
}

/* How many steps the number 1 has, when the greatest number is to have `steps`. */
INLINE float steps_in_one(float greatest, float steps) {
    return greatest > 0 ? steps / greatest : 0;
}

/* The factors of a polynomial, the highest power first. */
#define POWER_FACTORS {9.66636852e-3f, 5.59219758e-2f, 2.4022349e-1f, 6.93121045e-1f, 1.0f}
enum { POWER_TERMS = 5 };

/* Two to the power of numbers that are not positive, right to 18 bits. */
INLINE void power_of_two(Floats *numbers) {
    static const float factors[] = POWER_FACTORS;
    Floats x = *numbers, floor = x * 0 - 126.0f;
    raise_to(&x, &floor);
    Floats shifted = x + ROUNDER;
    Floats rest = x - (shifted - ROUNDER), sum = rest * factors[0] + factors[1];
    UNROLL for (int f = 2; f < POWER_TERMS; f++) sum = sum * rest + factors[f];
    *numbers = (Floats)((Ints)sum + ((Ints)shifted << 23));
}

/* The factors of a polynomial, the highest power first. */
#define GELU_FACTORS \
    {2.27812705e-8f, -1.59859331e-6f, 4.7955333e-5f, -8.14013593e-4f, \
     8.77237883e-3f, -6.45730893e-2f, 3.97883334e-1f}
enum { GELU_TERMS = 7 };

/* The Gaussian error linear unit, right to 0.0002: a hundredth of an 8-bit step. */
INLINE void gelu(float *numbers, int count) {
    static const float factors[] = GELU_FACTORS;
    for (int i = 0; i < count; i += LANES) {
        Floats x = *at(numbers + i), near = x;
        clamp(&near, -4.0f, 4.0f);
        Floats square = near * near, sum = square * factors[0] + factors[1];
        UNROLL for (int f = 2; f < GELU_TERMS; f++) sum = sum * square + factors[f];
        *at(numbers + i) = x * (sum * near + 0.5f);
    }
}

/* Moves and stretches a row to mean 0 and spread 1, then by `weight` and `bias`. */
INLINE void normalise(float *row, int width, const float *weight, const float *bias) {
    Floats sum = {0}, squares = {0};
    for (int i = 0; i < width; i += LANES) sum += *at(row + i);
    float mean = total(&sum) / width;
    for (int i = 0; i < width; i += LANES) {
        Floats centred = *at(row + i) - mean;
        *at(row + i) = centred;
        squares += centred * centred;
    }
    float shrink = 1.0f / sqrtf(total(&squares) / width + 1e-12f);
    for (int i = 0; i < width; i += LANES)
        *at(row + i) = *at(row + i) * shrink * *at(weight + i) + *at(bias + i);
}

#endif
