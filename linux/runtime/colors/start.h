// Makes the tasks' heaps and stacks, in pages that were checked.
#ifndef TAU_LINUX_RUNTIME_COLORS_START_H
#define TAU_LINUX_RUNTIME_COLORS_START_H

// TEXT is the settings' line `colors`; the spill heap exists. Returns NULL, or what was impossible.
const char *tau_colors_start(const char *text);

#endif
