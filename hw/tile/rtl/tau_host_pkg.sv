// Calls from the simulated tile to its host. hw/tile/sim implements them. They are made only at a
// clock edge, because a call may change the host's state.
package tau_host_pkg;
  // The word at `address` when the simulation begins: of the program's image, else of the filling.
  import "DPI-C" function int unsigned tau_host_word(int unsigned tile, int unsigned address);
  import "DPI-C" function int unsigned tau_host_frame_read(int unsigned tile, int unsigned word);
  import "DPI-C" function void tau_host_frame_write(int unsigned tile, int unsigned word,
                                                    int unsigned data, int unsigned byte_enable);
  // A word for the other tile's frames. They have it when all tiles have passed this edge.
  import "DPI-C" function void tau_host_link_send(int unsigned tile, int unsigned word,
                                                  int unsigned data, int unsigned byte_enable);
  import "DPI-C" function void tau_host_console(int unsigned tile, int unsigned letter);
  import "DPI-C" function void tau_host_exit(int unsigned tile, int unsigned code);
  import "DPI-C" function void tau_host_double_fault(int unsigned tile, int unsigned pc,
                                                     int unsigned exception_pc,
                                                     int unsigned exception_address);
  // The mailbox, hw/tile/doc/mailbox.md. These two may wait for the host's input.
  import "DPI-C" function int unsigned tau_host_command_status(int unsigned tile);
  import "DPI-C" function int unsigned tau_host_command_word(int unsigned tile, int unsigned index);
  import "DPI-C" function void tau_host_command_next(int unsigned tile);
  import "DPI-C" function void tau_host_fault_records(int unsigned tile, int unsigned mode);
  import "DPI-C" function void tau_host_stopwatch(int unsigned tile, int unsigned channel,
                                                  int unsigned action, int unsigned value,
                                                  longint unsigned cycle);
  // A window access that was answered without a fault, `cycles` after it was first requested.
  import "DPI-C" function void tau_host_access(int unsigned tile, int unsigned write,
                                               int unsigned cycles);
  import "DPI-C" function void tau_host_fault(int unsigned tile);
  // A data fault whose page was requested again `cycles` after the request that faulted.
  import "DPI-C" function void tau_host_fault_repeated(int unsigned tile, int unsigned address,
                                                       int unsigned cause, int unsigned cycles,
                                                       longint unsigned cycle);
  // Words of a kernel for the kernel of the other tile, which sees each SizeLinkCycles later.
  import "DPI-C" function void tau_host_ready_set(int unsigned tile, int unsigned index,
                                                  int unsigned value, longint unsigned cycle);
  import "DPI-C" function int unsigned tau_host_ready(int unsigned tile, int unsigned index,
                                                      longint unsigned cycle);
  // The memory tile, which all tiles share.
  import "DPI-C" function int unsigned tau_host_memory_tile(int unsigned word);
  // What a composable system tells (docs/spec/kernel.md, "Records of the simulator").
  import "DPI-C" function void tau_host_application_console(int unsigned tile,
                                                            int unsigned application,
                                                            int unsigned letter);
  import "DPI-C" function void tau_host_mark(int unsigned tile, int unsigned application,
                                             int unsigned value, int unsigned misses_fetch,
                                             int unsigned misses_data, int unsigned words_moved,
                                             longint unsigned cycle);
  import "DPI-C" function void tau_host_owner(int unsigned tile, int unsigned owner,
                                              int unsigned misses_fetch, int unsigned misses_data,
                                              int unsigned words_moved, int unsigned awake_cycles,
                                              longint unsigned cycle);
  import "DPI-C" function void tau_host_trap(int unsigned tile, int unsigned cause, int unsigned pc,
                                             int unsigned address, longint unsigned cycle);
  import "DPI-C" function void tau_host_resume(int unsigned tile, int unsigned is_user,
                                               longint unsigned cycle);
  // A store to table memory 0, which has the page tables of a composable system.
  import "DPI-C" function void tau_host_table_write(int unsigned tile, int unsigned word,
                                                    int unsigned data, int unsigned byte_enable);
  // When the simulation ends.
  import "DPI-C" function void tau_host_counter(int unsigned tile, int unsigned index,
                                                longint unsigned count);
endpackage
