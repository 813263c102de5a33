// Another file of the program, on the same heap.
#include "core/ports/cpp/tautochrone.hpp"

void *made_elsewhere(std::size_t size_bytes);

void *made_elsewhere(std::size_t size_bytes) {
    return tautochrone::plan::demand(size_bytes, 1);
}
