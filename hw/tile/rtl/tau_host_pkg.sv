// Calls from the simulated tile to its host. hw/tile/sim implements them. They are made only at a
// clock edge, because a call may change the host's state.
package tau_host_pkg;
  // The word at `address` when the simulation begins: of the program's image, else of the filling.
  import "DPI-C" function int unsigned tau_host_word(input int unsigned tile,
                                                     input int unsigned address);
  import "DPI-C" function int unsigned tau_host_frame_read(input int unsigned tile,
                                                           input int unsigned word);
  import "DPI-C" function void tau_host_frame_write(input int unsigned tile,
                                                    input int unsigned word,
                                                    input int unsigned data,
                                                    input int unsigned byte_enable);
  import "DPI-C" function void tau_host_console(input int unsigned tile, input int unsigned letter);
  import "DPI-C" function void tau_host_exit(input int unsigned tile, input int unsigned code);
  import "DPI-C" function void tau_host_double_fault(input int unsigned tile,
                                                     input int unsigned pc,
                                                     input int unsigned exception_pc,
                                                     input int unsigned exception_address);
  // The mailbox, hw/tile/doc/mailbox.md. These two may wait for the host's input.
  import "DPI-C" function int unsigned tau_host_command_status(input int unsigned tile);
  import "DPI-C" function int unsigned tau_host_command_word(input int unsigned tile,
                                                             input int unsigned index);
  import "DPI-C" function void tau_host_command_next(input int unsigned tile);
  import "DPI-C" function void tau_host_fault_records(input int unsigned tile,
                                                      input int unsigned mode);
  import "DPI-C" function void tau_host_stopwatch(input int unsigned tile,
                                                  input int unsigned channel,
                                                  input int unsigned action,
                                                  input int unsigned value,
                                                  input longint unsigned cycle);
  // A window access that was answered without a fault, `cycles` after it was first requested.
  import "DPI-C" function void tau_host_access(input int unsigned tile,
                                               input int unsigned write,
                                               input int unsigned cycles);
  import "DPI-C" function void tau_host_fault(input int unsigned tile);
  // A data fault whose page was requested again `cycles` after the request that faulted.
  import "DPI-C" function void tau_host_fault_repeated(input int unsigned tile,
                                                       input int unsigned address,
                                                       input int unsigned cause,
                                                       input int unsigned cycles,
                                                       input longint unsigned cycle);
  // The memory tile, which all tiles share.
  import "DPI-C" function int unsigned tau_host_memory_tile(input int unsigned word);
  // What a composable system tells (docs/spec/kernel.md, "Records of the simulator").
  import "DPI-C" function void tau_host_application_console(input int unsigned tile,
                                                            input int unsigned application,
                                                            input int unsigned letter);
  import "DPI-C" function void tau_host_mark(input int unsigned tile,
                                             input int unsigned application,
                                             input int unsigned value,
                                             input int unsigned misses_fetch,
                                             input int unsigned misses_data,
                                             input int unsigned words_moved,
                                             input longint unsigned cycle);
  import "DPI-C" function void tau_host_owner(input int unsigned tile,
                                              input int unsigned owner,
                                              input int unsigned misses_fetch,
                                              input int unsigned misses_data,
                                              input int unsigned words_moved,
                                              input int unsigned awake_cycles,
                                              input longint unsigned cycle);
  import "DPI-C" function void tau_host_trap(input int unsigned tile,
                                             input int unsigned cause,
                                             input int unsigned pc,
                                             input int unsigned address,
                                             input longint unsigned cycle);
  import "DPI-C" function void tau_host_resume(input int unsigned tile,
                                               input longint unsigned cycle);
  // When the simulation ends.
  import "DPI-C" function void tau_host_counter(input int unsigned tile,
                                                input int unsigned index,
                                                input longint unsigned count);
endpackage
