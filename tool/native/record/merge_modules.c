// A line is "start-end perms offset device inode   path"; the recorder keeps executable ones and
// each file's first.
#include "tool/native/record/merge_modules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void line_read(struct tau_merge_snapshot *snapshot, char *line, uint64_t *base,
                      const char **base_path) {
    uint64_t start, end, offset;
    char permissions[5] = "";
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end,
               permissions, &offset, &path_at) < 4 ||
        path_at == 0 || start >= end) {
        return;
    }
    const char *path = line + path_at;
    if (offset == 0 && path[0] == '/') {
        *base = start;
        *base_path = path;
    }
    if (strlen(permissions) < 3 || permissions[2] != 'x') {
        return;
    }
    struct tau_merge_module *module = &snapshot->modules[snapshot->modules_count++];
    module->start = start;
    module->end = end;
    module->path = path;
    module->base = path[0] == '\0' ? 0 : start - offset;
    if (*base_path != NULL && strcmp(*base_path, path) == 0) {
        module->base = *base;
    }
}

bool tau_merge_modules_add(struct tau_merge_modules *modules, uint64_t ticks, const char *text,
                           size_t text_bytes) {
    struct tau_merge_snapshot *snapshots =
        realloc(modules->snapshots, (modules->snapshots_count + 1) * sizeof(*snapshots));
    if (snapshots == NULL) {
        return false;
    }
    modules->snapshots = snapshots;
    struct tau_merge_snapshot snapshot = {.ticks = ticks, .text = calloc(text_bytes + 1, 1)};
    size_t lines = 1;
    for (size_t i = 0; i < text_bytes && text[i] != '\0'; i++) {
        lines += text[i] == '\n';
    }
    snapshot.modules = calloc(lines, sizeof(*snapshot.modules));
    if (snapshot.text == NULL || snapshot.modules == NULL) {
        free(snapshot.text);
        free(snapshot.modules);
        return false;
    }
    memcpy(snapshot.text, text, text_bytes);
    uint64_t base = 0;
    const char *base_path = NULL;
    for (char *line = snapshot.text; line != NULL && *line != '\0';) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line_read(&snapshot, line, &base, &base_path);
        line = next;
    }
    modules->snapshots[modules->snapshots_count++] = snapshot;
    return true;
}

static const struct tau_merge_module *snapshot_find(const struct tau_merge_snapshot *snapshot,
                                                    uint64_t site) {
    for (size_t i = 0; i < snapshot->modules_count; i++) {
        if (site >= snapshot->modules[i].start && site < snapshot->modules[i].end) {
            return &snapshot->modules[i];
        }
    }
    return NULL;
}

const char *tau_merge_modules_find(const struct tau_merge_modules *modules, uint64_t ticks,
                                   uint64_t site, uint64_t *offset) {
    const struct tau_merge_module *found = NULL;
    // The latest snapshot before; else the first one after, since a snapshot is taken after the row
    // that needs it.
    for (size_t i = modules->snapshots_count; i > 0; i--) {
        const struct tau_merge_module *module = snapshot_find(&modules->snapshots[i - 1], site);
        if (module != NULL) {
            found = module;
            if (modules->snapshots[i - 1].ticks <= ticks) {
                break;
            }
        }
    }
    *offset = found == NULL ? site : site - found->base;
    return found == NULL ? "" : found->path;
}

void tau_merge_modules_close(struct tau_merge_modules *modules) {
    for (size_t i = 0; i < modules->snapshots_count; i++) {
        free(modules->snapshots[i].text);
        free(modules->snapshots[i].modules);
    }
    free(modules->snapshots);
    memset(modules, 0, sizeof(*modules));
}
