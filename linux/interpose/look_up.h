// Which function a name means after this library.
#ifndef TAU_LINUX_INTERPOSE_LOOK_UP_H
#define TAU_LINUX_INTERPOSE_LOOK_UP_H

#include <stdbool.h>

// What NAME would be without this library; NULL if nothing has it.
void *tau_look_up_next(const char *name);
// What NAME is to the library or program that the address CALLER lies in; NULL if nothing has it.
void *tau_look_up_for(const char *name, const void *caller);
// Whether one library has both addresses.
bool tau_look_up_same_library(const void *one, const void *other);

#endif
