// A simple fast Fourier transform that allocates as textbook ones do: every step of the recursion
// takes memory for its even and its odd half and frees both, last one first.
//
//     fft POINTS_LOG2
//
// Stands for the paper's FFT [P0-36]. The input is a sum of two tones, so that the result can be
// checked: exit status 1 if the two largest bins are not theirs.
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_TONE 3
#define SECOND_TONE 10

static void *needed(size_t size_bytes) {
    void *const memory = malloc(size_bytes);
    if (memory == NULL) {
        fputs("fft: no memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void transform(double complex *values, size_t count) {
    if (count == 1) {
        return;
    }
    const size_t half = count / 2;
    double complex *const even = needed(half * sizeof *even);
    double complex *const odd = needed(half * sizeof *odd);
    for (size_t place = 0; place < half; place++) {
        even[place] = values[2 * place];
        odd[place] = values[2 * place + 1];
    }
    transform(even, half);
    transform(odd, half);
    for (size_t place = 0; place < half; place++) {
        const double angle = -2.0 * acos(-1.0) * (double)place / (double)count;
        const double complex turned = odd[place] * (cos(angle) + sin(angle) * (double complex)I);
        values[place] = even[place] + turned;
        values[place + half] = even[place] - turned;
    }
    free(odd);
    free(even);
}

// Whether TONE's bin is COUNT / 2 high, as a tone of height 1 makes it.
static int found(const double complex *values, size_t count, size_t tone) {
    return fabs(cabs(values[tone]) - (double)count / 2) < 1e-6 * (double)count;
}

int main(int argc, char **argv) {
    const unsigned long points_log2 = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (points_log2 < 5 || points_log2 > 24) {
        fputs("usage: fft POINTS_LOG2, from 5 to 24\n", stderr);
        return 2;
    }
    const size_t count = (size_t)1 << points_log2;
    double complex *const values = needed(count * sizeof *values);
    for (size_t place = 0; place < count; place++) {
        const double turn = 2.0 * acos(-1.0) * (double)place / (double)count;
        values[place] = cos(FIRST_TONE * turn) + sin(SECOND_TONE * turn);
    }
    transform(values, count);
    const int right = found(values, count, FIRST_TONE) && found(values, count, SECOND_TONE);
    printf("fft: %zu points, %s\n", count, right ? "both tones found" : "wrong");
    free(values);
    return right ? 0 : 1;
}
