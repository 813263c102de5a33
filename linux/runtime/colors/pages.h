// The windows of tasks: runs are mapped, all else is reserved.
#ifndef TAU_LINUX_RUNTIME_COLORS_PAGES_H
#define TAU_LINUX_RUNTIME_COLORS_PAGES_H

// Maps the pages of tau_colors' tasks. The heaps have searched their pages. Returns NULL, or what
// was impossible.
const char *tau_colors_map(void);

#endif
