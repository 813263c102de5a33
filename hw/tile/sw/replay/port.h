// What the tile provides to the core: included in front of every file, so that a failed assert of
// the core ends the simulation with its text.
#ifndef TAU_REPLAY_PORT_H
#define TAU_REPLAY_PORT_H

#ifndef __ASSEMBLER__
_Noreturn void tau_replay_assert_failed(const char *text);
#define TAU_ASSERT_FAILED(text) tau_replay_assert_failed("assertion: " text)
#endif

#endif
