// With virtual memory: an application of one task. Marks tell when the iterations start and end.
#include "kernel/base/application.h"
#include "kernel/base/system_page.h"
#include "repro/composable/programs/iterations.h"

void decode(void) {
    tau_iterations_begin();
    tau_system_page_mark(0, 0, 0);
    tau_iterations_run();
    tau_system_page_mark(0, 0, 1);
}

TAU_TASK(decode, 1024);
TAU_APPLICATION(1, TAU_TASK_OF(decode));
