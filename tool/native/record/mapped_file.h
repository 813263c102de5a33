// A whole file in memory, to be read only.
#ifndef TAU_MAPPED_FILE_H
#define TAU_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tau_mapped_file {
    const uint8_t *bytes;  // NULL if the file is empty
    size_t size_bytes;
};

// False, with errno, if PATH cannot be read.
bool tau_mapped_file_open(struct tau_mapped_file *file, const char *path);
// Keeps errno.
void tau_mapped_file_close(struct tau_mapped_file *file);

#endif
