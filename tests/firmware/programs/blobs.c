// Matrices of rows, records that are reallocated as they grow, and aligned buffers.
#include "program.h"

#define STEPS 7000u
#define BLOBS 90u
#define MATRICES 5u
#define BUFFERS 4u

struct blob {
    unsigned char *bytes;
    size_t size;
    unsigned char fill;
};

struct matrix {
    int32_t **rows;
    uint32_t height, width;
};

static struct blob *blobs[BLOBS];
static struct matrix matrices[MATRICES];
static unsigned char *buffers[BUFFERS];

static void grow(uint32_t i, uint32_t step) {
    if (blobs[i] == NULL) {
        blobs[i] = grab_zeros(1, sizeof *blobs[i]);
        blobs[i]->fill = (unsigned char)step;
    }
    struct blob *blob = blobs[i];
    const size_t size = blob->size + 1 + random_below(random_below(10) == 0 ? 900 : 130);
    blob->bytes = regrab(blob->bytes, blob->size, size);
    memset(blob->bytes + blob->size, blob->fill, size - blob->size);
    blob->size = size;
}

static void give_up(uint32_t i) {
    struct blob *blob = blobs[i];
    for (size_t at = 0; at < blob->size; at++) {
        if (blob->bytes[at] != blob->fill) {
            add(0xdeadbeefu);
        }
    }
    add((uint32_t)blob->size);
    drop(blob->bytes);
    drop(blob);
    blobs[i] = NULL;
}

static void clear(struct matrix *matrix) {
    for (uint32_t y = 0; y < matrix->height; y++) {
        drop(matrix->rows[y]);
    }
    drop(matrix->rows);
    *matrix = (struct matrix){0};
}

static void make(struct matrix *matrix) {
    clear(matrix);
    matrix->height = 4 + random_below(20);
    matrix->width = 4 + random_below(28);
    matrix->rows = grab(matrix->height * sizeof *matrix->rows);
    for (uint32_t y = 0; y < matrix->height; y++) {
        matrix->rows[y] = grab_zeros(matrix->width, sizeof **matrix->rows);
        for (uint32_t x = 0; x < matrix->width; x++) {
            matrix->rows[y][x] += (int32_t)random_below(100);
        }
    }
    for (uint32_t y = 0; y < matrix->height; y++) {
        add((uint32_t)matrix->rows[y][y % matrix->width]);
    }
}

static void align(uint32_t i, uint32_t step) {
    drop(buffers[i]);
    buffers[i] = aligned_alloc(64, 64 * (1 + random_below(10)));
    if (buffers[i] == NULL) {
        buffers[i] = stored(64);
    } else if ((uintptr_t)buffers[i] % 64 != 0) {
        add(0xdeadbeefu);
    }
    buffers[i][63] = (unsigned char)step;
}

int main(int count, char **arguments) {
    start(count, arguments);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t i = random_below(BLOBS), what = random_below(40);
        if (what == 0) {
            make(&matrices[random_below(MATRICES)]);
        } else if (what == 1) {
            align(random_below(BUFFERS), step);
        } else if (what < 30) {
            grow(i, step);
        } else if (blobs[i] != NULL) {
            give_up(i);
        }
    }
    for (uint32_t i = 0; i < BLOBS; i++) {
        if (blobs[i] != NULL) {
            give_up(i);
        }
    }
    for (uint32_t i = 0; i < MATRICES; i++) {
        clear(&matrices[i]);
    }
    for (uint32_t i = 0; i < BUFFERS; i++) {
        if (buffers[i] != NULL) {
            add(buffers[i][63]);
        }
        drop(buffers[i]);
    }
    return finish();
}
