// The kernel tells where the program's headers are mapped; one of its note segments has the id.
#include "linux/recorder/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

static const char owner[] = "GNU";

static size_t rounded(size_t bytes) {
    return (bytes + 3u) & ~(size_t)3;
}

// Looks at the note at *AT, of LEFT bytes, and moves behind it. False at the end of the notes.
static bool note_next(const uint8_t **at, size_t *left, const uint8_t **id, size_t *id_bytes) {
    ElfW(Nhdr) note;
    if (*left < sizeof(note)) {
        return false;
    }
    memcpy(&note, *at, sizeof(note));
    const size_t name_bytes = rounded(note.n_namesz);
    const size_t whole_bytes = sizeof(note) + name_bytes + rounded(note.n_descsz);
    if (name_bytes > *left || note.n_descsz > *left || whole_bytes > *left) {
        return false;
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
        memcmp(*at + sizeof(note), owner, sizeof(owner)) == 0) {
        *id = *at + sizeof(note) + name_bytes;
        *id_bytes = note.n_descsz;
    }
    *at += whole_bytes;
    *left -= whole_bytes;
    return true;
}

uint32_t tau_build_id_read(uint8_t *to, size_t bytes) {
    const ElfW(Phdr) *const rows = (const void *)(uintptr_t)getauxval(AT_PHDR);
    const size_t count = rows == NULL ? 0 : getauxval(AT_PHNUM);
    uintptr_t base = 0;
    const uint8_t *id = NULL;
    size_t id_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].p_type == PT_PHDR) {
            base = (uintptr_t)rows - (uintptr_t)rows[i].p_vaddr;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].p_type == PT_NOTE) {
            const uint8_t *at = (const uint8_t *)(base + (uintptr_t)rows[i].p_vaddr);
            size_t left = rows[i].p_memsz;
            while (id == NULL && note_next(&at, &left, &id, &id_bytes)) {  // bound: left falls
            }
        }
    }
    id_bytes = id_bytes < bytes ? id_bytes : bytes;
    if (id != NULL) {
        memcpy(to, id, id_bytes);
    }
    return (uint32_t)id_bytes;
}
