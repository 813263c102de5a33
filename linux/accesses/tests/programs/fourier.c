// A fast Fourier transform of many short signals, each in vectors of its own.
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

// In place; COUNT is a power of two.
static void transform(double complex *signal, size_t count) {
    for (size_t i = 1, j = 0; i < count; i++) {
        size_t bit = count >> 1;
        for (; (j & bit) != 0; bit >>= 1) {
            j ^= bit;
        }
        j |= bit;
        if (i < j) {
            double complex kept = signal[i];
            signal[i] = signal[j];
            signal[j] = kept;
        }
    }
    for (size_t half = 1; half < count; half *= 2) {
        double complex root = cexp(-I * 3.14159265358979323846 / (double)half), power = 1;
        for (size_t k = 0; k < half; k++, power *= root) {
            for (size_t i = k; i < count; i += 2 * half) {
                double complex odd = power * signal[i + half];
                signal[i + half] = signal[i] - odd;
                signal[i] += odd;
            }
        }
    }
}

int main(int words, char **word) {
    int rounds = words > 1 ? atoi(word[1]) : 20;
    double loudest = 0;
    for (int round = 0; round < rounds; round++) {
        size_t count = (size_t)1 << (6 + round % 7);
        double complex *signal = malloc(count * sizeof *signal);
        double *power = calloc(count, sizeof *power);
        for (size_t i = 0; i < count; i++) {
            signal[i] = (double)((i * (size_t)(round + 3)) % 17) - 8;
        }
        // Four in a row give the signal again, count^2 times as loud.
        for (int turn = 0; turn < 5; turn++) {
            transform(signal, count);
        }
        for (size_t i = 0; i < count; i++) {
            power[i] = creal(signal[i] * conj(signal[i]));
            loudest = power[i] > loudest ? power[i] : loudest;
        }
        free(signal);
        free(power);
    }
    printf("%.3f\n", loudest);
    return 0;
}
