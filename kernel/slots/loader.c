#include "kernel/slots/kernel.h"
#include "kernel/slots/pages.h"
#include "kernel/stop.h"

// Stopwatches of the mailbox: the steps of a set-up, tagged with the application, and the answer to
// a command.
enum { WATCH_ALLOCATE, WATCH_BIND, WATCH_LOAD, WATCH_RELEASE, WATCH_ANSWER };
enum { INTERRUPTS = 1 << 3, COMMAND_IS_THERE = 1 };

struct command {
    uint32_t words[TAU_COMPOSE_SYSTEM_COMMAND_WORDS];
};

static struct command command_of(uint32_t number) {
    struct command command;
    for (uint32_t i = 0; i < TAU_COMPOSE_SYSTEM_COMMAND_WORDS; i++) {
        command.words[i] = tau_system_file_word(&tau_kernel.file, TAU_COMPOSE_HEADER_COMMAND_OFFSET,
                                                number, TAU_COMPOSE_SYSTEM_COMMAND_WORDS, i);
    }
    return command;
}

// The epoch of the next unload of APPLICATION among the system file's commands from FIRST on.
static uint32_t next_unload(uint32_t application, uint32_t first) {
    for (uint32_t i = first; i < tau_kernel.file.header[TAU_COMPOSE_HEADER_COMMAND_COUNT]; i++) {
        const struct command command = command_of(i);
        if (command.words[TAU_COMPOSE_COMMAND_APPLICATION] == application &&
            command.words[TAU_COMPOSE_COMMAND_OPERATION] == TAU_COMPOSE_COMMAND_UNLOAD) {
            return command.words[TAU_COMPOSE_COMMAND_EPOCH];
        }
    }
    return UINT32_MAX;
}

static volatile uint32_t *ready_word(uint32_t number) {
    return tau_tile_register(TAU_TILE_REGISTER_READY + 4 * number);
}

// Waits until the former life of an application has ended on its other tile: no word of that life,
// from a task or a DMA channel, comes later than the word that says so.
static void wait_for_peer(const struct tau_application *application) {
    while (*application->peer_word < TAU_LIFE_ENDED(application->life - 1)) {
        __asm__ volatile("wfi" ::: "memory");  // bound: the other loader's same command
    }
}

static void finish(uint32_t watch, uint32_t value, uint32_t life) {
    tau_tile_done(watch, value);
    tau_tile_send(watch, life);
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
    finish(WATCH_ALLOCATE, application->pages_count, application->life);
    wait_for_peer(application);
    tau_tile_start(WATCH_BIND, number);
    tau_pages_bind(number, &executable);
    finish(WATCH_BIND, 0, application->life);
    tau_tile_start(WATCH_LOAD, number);
    tau_pages_load(number, &executable, image);
    application->stopped_tasks = 0;
    for (uint32_t i = 0; i < executable.tasks_count; i++) {
        tau_context_begin(&application->tasks[i], executable.tasks[i].entry,
                          executable.tasks[i].stack, TAU_CONTEXT_STATUS_USER);
    }
    finish(WATCH_LOAD, 0, application->life);
    return NULL;
}

// Ends the load of an application that begins in EPOCH: false if that epoch has begun. Interrupts
// are off meanwhile: no slot ends between the look at the epoch and the word for the other tile,
// and none of its tasks runs before its state says so.
static bool begin_life(uint32_t number, uint32_t epoch) {
    struct tau_application *application = &tau_kernel.applications[number];
    __asm__ volatile("csrc mstatus, %0" ::"r"(INTERRUPTS) : "memory");
    const bool is_in_time = tau_kernel.epoch < epoch;
    if (is_in_time) {
        application->state = TAU_APPLICATION_LOADED;
        application->start_epoch = epoch;
        *ready_word(number) = application->ready;
    }
    __asm__ volatile("csrs mstatus, %0" ::"r"(INTERRUPTS) : "memory");
    return is_in_time;
}

static void say_refused(uint32_t number, const char *wrong) {
    tau_tile_print("kernel: application ");
    tau_tile_print_number(number);
    tau_tile_print(" is refused: ");
    tau_tile_print(wrong);
    tau_tile_print("\n");
}

// The answer to another load without an unload in between: nothing changes, as the first one said.
static uint32_t answer_again(const struct tau_application *application) {
    return application->state == TAU_APPLICATION_LOADED ? TAU_COMPOSE_ANSWER_READY
           : application->state == TAU_APPLICATION_LATE ? TAU_COMPOSE_ANSWER_LATE
                                                        : TAU_COMPOSE_ANSWER_REFUSED;
}

// The answer, and in WRONG its reason. The application's tasks run from EPOCH until STOP_EPOCH.
static uint32_t load(uint32_t number, uint32_t epoch, uint32_t stop_epoch, const char **wrong) {
    struct tau_application *application = &tau_kernel.applications[number];
    if (application->state != TAU_APPLICATION_ABSENT) {
        return answer_again(application);
    }
    application->life++;
    application->ready = TAU_LIFE_READY(application->life);
    application->start_epoch = UINT32_MAX;
    *wrong = set_up(number);
    if (*wrong != NULL) {
        application->state = TAU_APPLICATION_REFUSED;
        return TAU_COMPOSE_ANSWER_REFUSED;
    }
    application->stop_epoch = stop_epoch;
    if (!begin_life(number, epoch)) {
        application->state = TAU_APPLICATION_LATE;
        *wrong = "its load ended after its epoch had begun";
        return TAU_COMPOSE_ANSWER_LATE;
    }
    return TAU_COMPOSE_ANSWER_READY;
}

// Ends the life of an application with EPOCH, or now: false if it should have ended before. One
// that is absent keeps its end: a later one would prolong the life that it had.
static bool end_life(struct tau_application *application, uint32_t epoch) {
    if (application->state == TAU_APPLICATION_ABSENT) {
        return true;
    }
    __asm__ volatile("csrc mstatus, %0" ::"r"(INTERRUPTS) : "memory");
    const bool is_late = application->state == TAU_APPLICATION_LOADED &&
                         epoch <= tau_kernel.epoch && epoch < application->stop_epoch;
    application->stop_epoch = epoch;
    __asm__ volatile("csrs mstatus, %0" ::"r"(INTERRUPTS) : "memory");
    return !is_late;
}

static uint32_t unload(uint32_t number, uint32_t epoch) {
    struct tau_application *application = &tau_kernel.applications[number];
    if (application->state == TAU_APPLICATION_ABSENT) {
        return TAU_COMPOSE_ANSWER_UNLOADED;  // at once: nothing ends with that epoch
    }
    const bool is_in_time = end_life(application, epoch);
    while (tau_kernel.epoch < epoch) {
        __asm__ volatile("wfi" ::: "memory");  // bound: the epoch comes
    }
    if (application->state == TAU_APPLICATION_LOADED ||
        application->state == TAU_APPLICATION_LATE) {
        tau_tile_start(WATCH_RELEASE, number);
        tau_pages_release(number);
        finish(WATCH_RELEASE, 0, application->life);
    }
    application->state = TAU_APPLICATION_ABSENT;
    *ready_word(number) = TAU_LIFE_ENDED(application->life);
    return is_in_time ? TAU_COMPOSE_ANSWER_UNLOADED : TAU_COMPOSE_ANSWER_LATE;
}

// NEXT is the first of the system file's commands behind it.
static void carry_out(const struct command *command, uint32_t next) {
    const uint32_t operation = command->words[TAU_COMPOSE_COMMAND_OPERATION];
    const uint32_t number = command->words[TAU_COMPOSE_COMMAND_APPLICATION];
    const uint32_t epoch = command->words[TAU_COMPOSE_COMMAND_EPOCH];
    while (tau_kernel.epoch < command->words[TAU_COMPOSE_COMMAND_ARRIVAL]) {
        __asm__ volatile("wfi" ::: "memory");  // bound: the epoch comes
    }
    tau_tile_start(WATCH_ANSWER, number);
    uint32_t answer = TAU_COMPOSE_ANSWER_UNKNOWN;
    uint32_t life = 0;
    const char *wrong = NULL;
    if (tau_system_file_names(&tau_kernel.file, number, 0)) {
        if (operation == TAU_COMPOSE_COMMAND_LOAD) {
            answer = load(number, epoch, next_unload(number, next), &wrong);
        } else if (operation == TAU_COMPOSE_COMMAND_UNLOAD) {
            answer = unload(number, epoch);
        } else if (operation == TAU_COMPOSE_COMMAND_END) {
            answer = end_life(&tau_kernel.applications[number], epoch) ? TAU_COMPOSE_ANSWER_ENDED
                                                                       : TAU_COMPOSE_ANSWER_LATE;
        }
        life = tau_kernel.applications[number].life;
    }
    finish(WATCH_ANSWER, answer, life);
    if (wrong != NULL) {
        say_refused(number, wrong);
    }
}

void tau_loader_begin(void) {
    for (uint32_t i = 0; i < tau_kernel.file.header[TAU_COMPOSE_HEADER_APPLICATION_COUNT]; i++) {
        struct tau_application *application = &tau_kernel.applications[i];
        const uint32_t has_peer =
            tau_system_file_application(&tau_kernel.file, i, TAU_COMPOSE_APPLICATION_HAS_PEER);
        application->peer_word = has_peer != 0 ? ready_word(i) : &application->ready;
    }
}

_Noreturn void tau_loader_run(void) {
    struct command command;
    const uint32_t count = tau_kernel.file.header[TAU_COMPOSE_HEADER_COMMAND_COUNT];
    for (uint32_t i = 0; i < count; i++) {
        command = command_of(i);
        carry_out(&command, i + 1);
    }
    for (;;) {
        if (tau_tile_read(TAU_TILE_REGISTER_STATUS) != COMMAND_IS_THERE) {
            __asm__ volatile("wfi");
            continue;
        }
        for (uint32_t i = 0; i < TAU_COMPOSE_SYSTEM_COMMAND_WORDS; i++) {
            command.words[i] = tau_tile_read(TAU_TILE_REGISTER_COMMAND + 4 * i);
        }
        tau_tile_write(TAU_TILE_REGISTER_NEXT, 0);
        carry_out(&command, count);
    }
}
