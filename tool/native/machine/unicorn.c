// Finds unicorn's functions. See unicorn.h.
#include "tool/native/machine/unicorn.h"

#include <dlfcn.h>
#include <string.h>

bool tau_unicorn_load(struct tau_unicorn *unicorn, const char *path) {
    unicorn->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (unicorn->library == NULL) {
        return false;
    }
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"uc_open", &unicorn->open},
        {"uc_close", &unicorn->close},
        {"uc_mem_map_ptr", &unicorn->mem_map_ptr},
        {"uc_hook_add", &unicorn->hook_add},
        {"uc_emu_start", &unicorn->emu_start},
        {"uc_emu_stop", &unicorn->emu_stop},
        {"uc_reg_write", &unicorn->reg_write},
        {"uc_reg_read", &unicorn->reg_read},
        {"uc_ctl", &unicorn->ctl},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(unicorn->library, wanted[i].name);
        if (found == NULL) {
            return false;
        }
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return true;
}
