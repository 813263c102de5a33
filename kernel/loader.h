// The loader: carries out the integrator's commands, in slots of its own, preempted like everyone.
#ifndef TAU_KERNEL_LOADER_H
#define TAU_KERNEL_LOADER_H

// Sets for each application in which major frames it runs, by the first commands for it.
void tau_loader_begin(void);

// The loader's task: all commands in their order, then nothing more.
_Noreturn void tau_loader_run(void);

#endif
