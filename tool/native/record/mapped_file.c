#include "tool/native/record/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool tau_mapped_file_open(struct tau_mapped_file *file, const char *path) {
    struct stat about;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = descriptor >= 0 && fstat(descriptor, &about) == 0;
    *file = (struct tau_mapped_file){0};
    if (is_read && about.st_size > 0) {
        void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        is_read = mapped != MAP_FAILED;
        *file = (struct tau_mapped_file){is_read ? mapped : NULL, (size_t)about.st_size};
    }
    const int cause = errno;
    if (descriptor >= 0) {
        close(descriptor);
    }
    errno = cause;
    return is_read;
}

void tau_mapped_file_close(struct tau_mapped_file *file) {
    const int cause = errno;
    if (file->bytes != NULL) {
        munmap((void *)(uintptr_t)file->bytes, file->size_bytes);
    }
    errno = cause;
}
