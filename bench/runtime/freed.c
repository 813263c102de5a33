// Makes objects of SIZE bytes, 1 GiB in all, writes to them, frees all of them, and prints the
// resident KiB then. Nothing else is allocated meanwhile.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 30)

int main(int words_count, char **words) {
    const size_t size = words_count > 1 ? strtoul(words[1], NULL, 0) : 0;
    if (size == 0) {
        return 2;
    }
    const size_t count = BYTES / size;
    char **const objects = mmap(NULL, count * sizeof *objects, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t index = 0; index < count; index++) {
        objects[index] = malloc(size);
        memset(objects[index], 1, size);
    }
    for (size_t index = 0; index < count; index++) {
        free(objects[index]);
    }
    munmap(objects, count * sizeof *objects);
    char text[200] = "";
    const int file = open("/proc/self/statm", O_RDONLY);
    if (read(file, text, sizeof text - 1) <= 0) {
        return 1;
    }
    const long pages = strtol(strchr(text, ' '), NULL, 10);
    char out[24];
    size_t at = sizeof out;
    out[--at] = '\n';
    for (long kib = pages * (sysconf(_SC_PAGESIZE) / 1024); kib > 0; kib /= 10) {
        out[--at] = (char)('0' + kib % 10);
    }
    return write(STDOUT_FILENO, out + at, sizeof out - at) < 0;
}
