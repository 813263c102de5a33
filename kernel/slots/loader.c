#include "kernel/slots/kernel.h"
#include "kernel/slots/pages.h"
#include "kernel/stop.h"

// Stopwatches of the mailbox: the steps of a set-up, tagged with the application.
enum { WATCH_ALLOCATE, WATCH_BIND, WATCH_LOAD, WATCH_RELEASE };

static uint32_t command_word(uint32_t command, uint32_t word) {
    return tau_system_file_word(&tau_kernel.file, TAU_COMPOSE_HEADER_COMMAND_OFFSET, command,
                                TAU_COMPOSE_SYSTEM_COMMAND_WORDS, word);
}

// Sets when APPLICATION runs next, by the commands from FIRST on. A slot may end between any two
// stores: the start is last, and never while it is absent.
static void schedule(uint32_t application, uint32_t first) {
    uint32_t start_frame = UINT32_MAX;
    uint32_t stop_frame = UINT32_MAX;
    bool is_started = false;
    for (uint32_t i = first; i < tau_kernel.file.header[TAU_COMPOSE_HEADER_COMMAND_COUNT]; i++) {
        if (command_word(i, TAU_COMPOSE_COMMAND_APPLICATION) != application) {
            continue;
        }
        const uint32_t major_frame = command_word(i, TAU_COMPOSE_COMMAND_MAJOR_FRAME);
        const bool is_load =
            command_word(i, TAU_COMPOSE_COMMAND_OPERATION) == TAU_COMPOSE_COMMAND_LOAD;
        if (is_load && !is_started) {
            start_frame = major_frame;
            is_started = true;
        } else if (!is_load && is_started) {
            stop_frame = major_frame;
            break;
        }
    }
    volatile struct tau_application *state = &tau_kernel.applications[application];
    state->start_frame = UINT32_MAX;
    state->stop_frame = stop_frame;
    state->state = TAU_APPLICATION_ABSENT;
    state->start_frame = start_frame;
}

static void finish(uint32_t watch, uint32_t value) {
    tau_tile_done(watch, value);
    tau_tile_send(watch, 0);
}

static const char *set_up(uint32_t number) {
    static struct tau_executable executable;
    const struct tau_system_file *file = &tau_kernel.file;
    struct tau_application *application = &tau_kernel.applications[number];
    const uint32_t offset =
        tau_system_file_application(file, number, TAU_COMPOSE_APPLICATION_IMAGE_OFFSET);
    const uint32_t bytes =
        tau_system_file_application(file, number, TAU_COMPOSE_APPLICATION_IMAGE_BYTES);
    const volatile uint32_t *image = file->words + offset / 4;
    tau_tile_start(WATCH_ALLOCATE, number);
    const char *wrong =
        tau_executable_read(&executable, image, bytes, &file->header[TAU_COMPOSE_HEADER_BASE_HASH]);
    if (wrong == NULL &&
        executable.tasks_count !=
            tau_system_file_application(file, number, TAU_COMPOSE_APPLICATION_TASK_COUNT)) {
        wrong = "its number of tasks differs from that in the system file";
    }
    if (wrong == NULL) {
        wrong = tau_pages_allocate(number);
    }
    if (wrong != NULL) {
        return wrong;
    }
    if (!tau_pages_hold(number, &executable)) {
        tau_pages_release(number);
        return "a segment lies outside the pages with its rights";
    }
    finish(WATCH_ALLOCATE, application->pages_count);
    tau_tile_start(WATCH_BIND, number);
    tau_pages_bind(number, &executable);
    finish(WATCH_BIND, 0);
    tau_tile_start(WATCH_LOAD, number);
    tau_pages_load(number, &executable, image);
    application->stopped_tasks = 0;
    for (uint32_t i = 0; i < executable.tasks_count; i++) {
        tau_context_begin(&application->tasks[i], executable.tasks[i].entry,
                          executable.tasks[i].stack, TAU_CONTEXT_STATUS_USER);
    }
    finish(WATCH_LOAD, 0);
    return NULL;
}

static void load(uint32_t number) {
    volatile struct tau_application *application = &tau_kernel.applications[number];
    if (application->state != TAU_APPLICATION_ABSENT) {
        return;  // loaded twice without an unload: it stays
    }
    const char *wrong = set_up(number);
    if (wrong == NULL) {
        application->state = TAU_APPLICATION_LOADED;
        return;
    }
    application->state = TAU_APPLICATION_REFUSED;
    tau_tile_print("kernel: application ");
    tau_tile_print_number(number);
    tau_tile_print(" is refused: ");
    tau_tile_print(wrong);
    tau_tile_print("\n");
}

static void unload(uint32_t number, uint32_t command) {
    while (tau_kernel.major_frame < command_word(command, TAU_COMPOSE_COMMAND_MAJOR_FRAME)) {
        __asm__ volatile("wfi" ::: "memory");  // bound: the major frame comes
    }
    if (tau_kernel.applications[number].state == TAU_APPLICATION_LOADED) {
        tau_tile_start(WATCH_RELEASE, number);
        tau_pages_release(number);
        finish(WATCH_RELEASE, 0);
    }
    schedule(number, command + 1);
}

void tau_loader_begin(void) {
    for (uint32_t i = 0; i < tau_kernel.file.header[TAU_COMPOSE_HEADER_APPLICATION_COUNT]; i++) {
        schedule(i, 0);
    }
}

_Noreturn void tau_loader_run(void) {
    for (uint32_t i = 0; i < tau_kernel.file.header[TAU_COMPOSE_HEADER_COMMAND_COUNT]; i++) {
        const uint32_t application = command_word(i, TAU_COMPOSE_COMMAND_APPLICATION);
        if (command_word(i, TAU_COMPOSE_COMMAND_OPERATION) == TAU_COMPOSE_COMMAND_LOAD) {
            load(application);
        } else {
            unload(application, i);
        }
    }
    for (;;) {
        __asm__ volatile("wfi");
    }
}
