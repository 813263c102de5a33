// Random operations on a form of the tree, each answer compared with a sorted list; prints the
// bytes of the form. Memory that is never touched costs nothing, so 2^36 pages fit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tree.h"

enum { STARTS_MAX = 400, STEPS = 20000 };

static uint64_t state = 1;

static uint64_t draw(void) {  // splitmix64 (S. Vigna)
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void expect(bool holds, const char *what, uint64_t page) {
    if (!holds) {
        printf("%s of page %llu is wrong\n", what, (unsigned long long)page);
        exit(1);
    }
}

int main(int argc, char **argv) {
    static uint64_t starts[STARTS_MAX + 1];
    unsigned count = 1;
    const uint64_t pages = UINT64_C(1) << BENCH_LOG2;
    const size_t bytes = bench_tree_size_bytes();
    struct bench_tree tree;
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        puts("no memory");
        return 1;
    }
    if (argc > 1) {
        state = strtoull(argv[1], NULL, 0);
    }
    bench_tree_init(&tree, memory);
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t page = draw() % pages;
        if (step % 3 == 0) {
            page = (starts[draw() % count] + draw() % 67 - 33) % pages;
        } else if (step % 3 == 1) {
            page = ((draw() % pages) >> draw() % BENCH_LOG2 << 5 * (draw() % LEVELS)) % pages;
        }
        unsigned index = count - 1;
        while (starts[index] > page) {
            index--;
        }
        const uint64_t next = index + 1 < count ? starts[index + 1] : (page_type)-1;
        expect(bench_tree_find(&tree, (page_type)page) == starts[index], "find", page);
        expect(bench_tree_next(&tree, (page_type)page) == next, "next", page);
        if (starts[index] != page && count < STARTS_MAX && (step >> 11) % 2 == 0) {
            bench_tree_split(&tree, (page_type)page);
            memmove(starts + index + 2, starts + index + 1, (count - index - 1) * sizeof *starts);
            starts[index + 1] = page;
            count++;
        } else if (index > 0) {
            bench_tree_union(&tree, (page_type)starts[index]);
            memmove(starts + index, starts + index + 1, (count - index - 1) * sizeof *starts);
            count--;
        }
    }
    printf("%zu\n", bytes);
    return 0;
}
