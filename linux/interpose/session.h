// What `tau record` and `tau run` tell their preloaded library: one variable, as long in both, so
// that a program that copies its environment needs as much heap in one as in the other.
//
//   TAU_PRELOAD=record PID TICKS_PER_SECOND SECCOMP_FILTERS FLAGS FRAMES FOLDER
//   TAU_PRELOAD=run PID DESCRIPTOR INODE REPORT_BYTES FOLDER
//
// FOLDER ends with as many slashes as fill the value.
#ifndef TAU_LINUX_INTERPOSE_SESSION_H
#define TAU_LINUX_INTERPOSE_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TAU_SESSION_VARIABLE "TAU_PRELOAD="

// What follows KIND in the variable of ENVIRONMENT, which may be NULL; NULL if it is not there.
static inline const char *tau_session_find(char *const *environment, const char *kind) {
    const size_t kind_bytes = strlen(kind);
    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++) {
        const char *const value = *entry + sizeof(TAU_SESSION_VARIABLE) - 1;
        if (strncmp(*entry, TAU_SESSION_VARIABLE, sizeof(TAU_SESSION_VARIABLE) - 1) == 0) {
            const char *const words = value + kind_bytes;
            return strncmp(value, kind, kind_bytes) == 0 && *words == ' ' ? words + 1 : NULL;
        }
    }
    return NULL;
}

// The number at *TEXT, which moves after it and one blank; 0 if there is none.
static inline uint64_t tau_session_number(const char **text) {
    uint64_t number = 0;
    while (**text >= '0' && **text <= '9') {
        number = number * 10 + (uint64_t)(*(*text)++ - '0');
    }
    *text += **text == ' ';
    return number;
}

// Copies the folder at TEXT without its last slashes; an empty text if it is longer than BYTES - 1.
static inline void tau_session_folder(const char *text, char *folder, size_t bytes) {
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '/') {
        length--;
    }
    length = length < bytes ? length : 0;
    memcpy(folder, text, length);
    folder[length] = '\0';
}

#endif
