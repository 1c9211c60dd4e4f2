// Files mapped read-only, with one promise more than mmap gives: a file that shrinks while it is mapped does not kill
// the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bankml {

// Registers [start, start + size) with the SIGBUS handler and returns its slot; a model_error when all slots are taken.
// A fault inside a guarded map puts zeros there and marks the slot as damaged.
int guard_mapping(const void* start, size_t size);
void unguard_mapping(int slot);
bool mapping_damaged(int slot);

}  // namespace bankml
