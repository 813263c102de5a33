// Whether every page of a task's window is where the plan has it, in sets that the task owns.
#ifndef TAU_LINUX_RUNTIME_COLORS_OWNERSHIP_H
#define TAU_LINUX_RUNTIME_COLORS_OWNERSHIP_H

// Looks at each page that /proc/self/maps has in a window, and counts them in tau_colors. Returns
// NULL, or what is wrong.
const char *tau_colors_check_pages(void);

#endif
