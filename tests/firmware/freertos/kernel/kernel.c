// A stand-in for FreeRTOS's kernel on a Cortex-M4: preemptive tasks by priority, in turns among
// equals, queues, timers in a task of their own, and the scheduler's lock. Every task, queue and
// timer is an object of the heap, as in FreeRTOS.
#include <stdbool.h>
#include <string.h>

#include "FreeRTOS.h"
#include "queue.h"
#include "task.h"
#include "timers.h"

#define ICSR (*(volatile uint32_t *)0xe000ed04u)
#define ICSR_PENDSVSET (1u << 28)
#define SYSTICK ((volatile uint32_t *)0xe000e010u)  // control, reload, value
#define SHPR3 (*(volatile uint32_t *)0xe000ed20u)
#define SHPR3_LOWEST 0xffff0000u  // of PendSV and SysTick
#define FIRST_XPSR 0x01000000u
#define FRAME_WORDS 16u  // r4 to r11, then what an exception stores

enum state { READY, DELAYED, WAITING, DELETED };

struct tskTaskControlBlock {
    uint32_t *top;  // the first member: xPortPendSVHandler reads and writes it
    struct tskTaskControlBlock *next;
    StackType_t *stack;
    UBaseType_t priority;
    enum state state;
    TickType_t wake_ticks;
    const void *waits_for;
};

struct QueueDefinition {
    UBaseType_t length, item_bytes, count, first;
    unsigned char items[];
};

struct tmrTimerControl {
    struct tmrTimerControl *next;
    TickType_t period_ticks, due_ticks;
    bool is_repeated, is_active;
    TimerCallbackFunction_t callback;
};

// What runs before the first task: it is left once, and never chosen.
static uint32_t first_stack[FRAME_WORDS];
static struct tskTaskControlBlock first_task = {.state = DELETED};
static struct tskTaskControlBlock *tasks = &first_task;
struct tskTaskControlBlock *kernel_current = &first_task;
static struct tmrTimerControl *timers;
static volatile TickType_t now_ticks;
static volatile unsigned int suspended;
static volatile bool is_switch_due;
static bool is_started;

// ---- Processor ----

static uint32_t lock(void) {
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
    return before;
}

static void unlock(uint32_t before) {
    __asm__ volatile("msr primask, %0\n isb" ::"r"(before) : "memory");
}

void kernel_yield(void) {
    ICSR = ICSR_PENDSVSET;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

// The next ready task of the highest priority, if the scheduler is not suspended.
__attribute__((used)) static void kernel_choose(void) {
    is_switch_due = suspended != 0;
    if (is_switch_due) {
        return;
    }
    struct tskTaskControlBlock *task = kernel_current, *best = NULL;
    do {
        task = task->next == NULL ? tasks : task->next;
        if (task->state == READY && (best == NULL || task->priority > best->priority)) {
            best = task;
        }
    } while (task != kernel_current);
    kernel_current = best;
}

void xPortPendSVHandler(void);
__attribute__((naked)) void xPortPendSVHandler(void) {
    __asm__ volatile("cpsid i\n"
                     "mrs r0, psp\n"
                     "stmdb r0!, {r4-r11}\n"
                     "ldr r4, =kernel_current\n"
                     "ldr r1, [r4]\n"
                     "str r0, [r1]\n"
                     "bl kernel_choose\n"
                     "ldr r1, [r4]\n"
                     "ldr r0, [r1]\n"
                     "ldmia r0!, {r4-r11}\n"
                     "msr psp, r0\n"
                     "cpsie i\n"
                     "mvn lr, #2\n"  // to a task, with its own stack
                     "bx lr\n"
                     ".ltorg\n");
}

void xPortSysTickHandler(void);
void xPortSysTickHandler(void) {
    const uint32_t before = lock();
    now_ticks++;
    for (struct tskTaskControlBlock *task = tasks; task != NULL; task = task->next) {
        if (task->state == DELAYED && task->wake_ticks == now_ticks) {
            task->state = READY;
        }
    }
    kernel_yield();
    unlock(before);
}

// ---- Tasks ----

static void never_returns(void) {
    configASSERT(pdFALSE);
    for (;;) {
    }
}

BaseType_t xTaskCreate(TaskFunction_t function, const char *name, size_t stack_words,
                       void *argument, UBaseType_t priority, TaskHandle_t *made) {
    (void)name;
    StackType_t *stack = pvPortMalloc(stack_words * sizeof *stack);
    struct tskTaskControlBlock *task = stack == NULL ? NULL : pvPortMalloc(sizeof *task);
    if (task == NULL) {
        vPortFree(stack);
        return pdFAIL;
    }
    uint32_t *const top = stack + stack_words / 2 * 2 - FRAME_WORDS;
    memset(top, 0, FRAME_WORDS * sizeof *top);
    top[8] = (uint32_t)(uintptr_t)argument;
    top[13] = (uint32_t)(uintptr_t)never_returns;
    top[14] = (uint32_t)(uintptr_t)function & ~1u;
    top[15] = FIRST_XPSR;
    *task = (struct tskTaskControlBlock){.top = top, .stack = stack, .priority = priority};
    const uint32_t before = lock();
    task->next = tasks;
    tasks = task;
    if (is_started) {
        kernel_yield();
    }
    unlock(before);
    if (made != NULL) {
        *made = task;
    }
    return pdPASS;
}

// Of the running task only. The idle task frees it.
void vTaskDelete(TaskHandle_t task) {
    configASSERT(task == NULL);
    kernel_current->state = DELETED;
    kernel_yield();
}

void vTaskDelay(TickType_t ticks) {
    const uint32_t before = lock();
    configASSERT(suspended == 0);
    kernel_current->wake_ticks = now_ticks + ticks;
    kernel_current->state = DELAYED;
    kernel_yield();
    unlock(before);
}

void vTaskSuspendAll(void) {
    suspended++;
}

BaseType_t xTaskResumeAll(void) {
    const uint32_t before = lock();
    suspended--;
    const BaseType_t is_yielded = suspended == 0 && is_switch_due;
    if (is_yielded) {
        kernel_yield();
    }
    unlock(before);
    return is_yielded;
}

TaskHandle_t xTaskGetCurrentTaskHandle(void) {
    return kernel_current;
}

BaseType_t xTaskGetSchedulerState(void) {
    return !is_started ? taskSCHEDULER_NOT_STARTED
                       : suspended != 0 ? taskSCHEDULER_SUSPENDED : taskSCHEDULER_RUNNING;
}

static struct tskTaskControlBlock *take_deleted(void) {
    struct tskTaskControlBlock **link = &tasks, *task = NULL;
    const uint32_t before = lock();
    while (*link != NULL && ((*link)->state != DELETED || *link == &first_task)) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        task = *link;
        *link = task->next;
    }
    unlock(before);
    return task;
}

static void idle(void *unused) {
    (void)unused;
    for (;;) {
        struct tskTaskControlBlock *const task = take_deleted();
        if (task != NULL) {
            vPortFree(task->stack);
            vPortFree(task);
        } else {
            __asm__ volatile("wfi");
        }
    }
}

// ---- Queues ----

static void wake(const void *what) {
    for (struct tskTaskControlBlock *task = tasks; task != NULL; task = task->next) {
        if (task->state == WAITING && task->waits_for == what) {
            task->state = READY;
        }
    }
    kernel_yield();
}

static void wait(const void *what) {
    configASSERT(suspended == 0);
    kernel_current->waits_for = what;
    kernel_current->state = WAITING;
    kernel_yield();
}

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t item_bytes) {
    struct QueueDefinition *queue = pvPortMalloc(sizeof *queue + length * item_bytes);
    if (queue != NULL) {
        *queue = (struct QueueDefinition){.length = length, .item_bytes = item_bytes};
    }
    return queue;
}

// One try to move an item in (IS_SEND) or out.
static BaseType_t move(QueueHandle_t queue, const void *in, void *out, bool waits) {
    const uint32_t before = lock();
    const bool is_possible = in != NULL ? queue->count < queue->length : queue->count > 0;
    if (is_possible && in != NULL) {
        const UBaseType_t index = (queue->first + queue->count) % queue->length;
        memcpy(queue->items + index * queue->item_bytes, in, queue->item_bytes);
        queue->count++;
    } else if (is_possible) {
        memcpy(out, queue->items + queue->first * queue->item_bytes, queue->item_bytes);
        queue->first = (queue->first + 1) % queue->length;
        queue->count--;
    }
    if (is_possible) {
        wake(queue);
    } else if (waits) {
        wait(queue);
    }
    unlock(before);
    return is_possible ? pdPASS : pdFAIL;
}

BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks) {
    while (!move(queue, item, NULL, ticks != 0)) {
        if (ticks == 0) {
            return pdFAIL;
        }
    }
    return pdPASS;
}

BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void *item, BaseType_t *is_due) {
    *is_due = pdTRUE;
    return move(queue, item, NULL, false);
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks) {
    while (!move(queue, NULL, item, ticks != 0)) {
        if (ticks == 0) {
            return pdFAIL;
        }
    }
    return pdPASS;
}

// ---- Timers ----

TimerHandle_t xTimerCreate(const char *name, TickType_t period_ticks, BaseType_t is_repeated,
                           void *identifier, TimerCallbackFunction_t callback) {
    (void)name;
    (void)identifier;
    struct tmrTimerControl *timer = pvPortMalloc(sizeof *timer);
    if (timer != NULL) {
        *timer = (struct tmrTimerControl){timers, period_ticks, 0, is_repeated, false, callback};
        timers = timer;
    }
    return timer;
}

BaseType_t xTimerStart(TimerHandle_t timer, TickType_t ticks) {
    (void)ticks;
    timer->due_ticks = now_ticks + timer->period_ticks;
    timer->is_active = true;
    return pdPASS;
}

static void call_timers(void *unused) {
    (void)unused;
    for (;;) {
        for (struct tmrTimerControl *timer = timers; timer != NULL; timer = timer->next) {
            if (timer->is_active && timer->due_ticks <= now_ticks) {
                timer->due_ticks += timer->period_ticks;
                timer->is_active = timer->is_repeated;
                timer->callback(timer);
            }
        }
        vTaskDelay(1);
    }
}

// ---- Start ----

void vTaskStartScheduler(void) {
    if (xTaskCreate(idle, "idle", configMINIMAL_STACK_SIZE, NULL, 0, NULL) != pdPASS ||
        xTaskCreate(call_timers, "timers", configTIMER_TASK_STACK_DEPTH, NULL,
                    configTIMER_TASK_PRIORITY, NULL) != pdPASS) {
        return;
    }
    SHPR3 |= SHPR3_LOWEST;
    SYSTICK[1] = configCPU_CLOCK_HZ / configTICK_RATE_HZ - 1;
    SYSTICK[2] = 0;
    SYSTICK[0] = 7;
    is_started = true;
    __asm__ volatile("msr psp, %0" ::"r"(first_stack + FRAME_WORDS));
    kernel_yield();
}
