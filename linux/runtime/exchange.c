#include "linux/runtime/exchange.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/interpose/session.h"

// A program may have closed the descriptor and opened another file in its place. This one has a
// number of its own and is sealed: a mapping of it stays whole.
static bool is_it(int file, uint64_t inode, struct tau_exchange *exchange) {
    const int sealed = F_SEAL_GROW | F_SEAL_SHRINK;
    const int seals = fcntl(file, F_GET_SEALS);
    struct stat about;
    if (seals < 0 || (seals & sealed) != sealed || fstat(file, &about) != 0 ||
        about.st_ino != inode || (size_t)about.st_size < exchange->report_bytes) {
        return false;
    }
    exchange->file = file;
    exchange->settings_bytes = (size_t)about.st_size - exchange->report_bytes;
    return true;
}

bool tau_exchange_open(struct tau_exchange *exchange, const char *words) {
    char folder[PATH_MAX], path[PATH_MAX];
    const int number = (int)tau_session_number(&words);
    const uint64_t inode = tau_session_number(&words);
    exchange->report_bytes = tau_session_number(&words);
    exchange->is_inherited = is_it(number, inode, exchange);
    if (exchange->is_inherited) {
        return true;
    }
    tau_session_folder(words, folder, sizeof folder);
    if (snprintf(path, sizeof path, "%s/%d", folder, number) >= (int)sizeof path) {
        return false;
    }
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    const bool is_found = is_it(file, inode, exchange);
    if (!is_found) {
        close(file);
    }
    return is_found;
}

void tau_exchange_close(const struct tau_exchange *exchange, bool is_kept) {
    if (!exchange->is_inherited || !is_kept) {
        close(exchange->file);
    }
}
