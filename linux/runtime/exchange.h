// The file in memory that `tau run` and the program share: room for the report, and after it the
// settings. A program can change neither its path nor its size.
#ifndef TAU_LINUX_RUNTIME_EXCHANGE_H
#define TAU_LINUX_RUNTIME_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

struct tau_exchange {
    int file;
    bool is_inherited;
    size_t report_bytes;    // 0: no room for a report
    size_t settings_bytes;  // after the report; 0: none
};

// Opens the file that WORDS of the environment name, "DESCRIPTOR INODE REPORT_BYTES FOLDER". Fails
// if and only if neither the inherited descriptor nor FOLDER/DESCRIPTOR is that file.
bool tau_exchange_open(struct tau_exchange *exchange, const char *words);
// Closes the descriptor, unless it was inherited and IS_KEPT: for what the process executes.
void tau_exchange_close(const struct tau_exchange *exchange, bool is_kept);

#endif
