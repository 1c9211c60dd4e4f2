#include "mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>

#include "error.h"

namespace bankml {

namespace {

constexpr int kSlots = 256;

struct Slot {
  std::atomic<uintptr_t> start{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> damaged{false};
};

Slot slots[kSlots];
struct sigaction previous;
uintptr_t page_size = 4096;

// Async-signal-safe: atomics, and mmap as a bare system call. Several slots may hold the address; they are marked
// before anyone can read the zeros.
bool repair(uintptr_t address) {
  bool ours = false;
  for (auto& slot : slots) {
    const uintptr_t start = slot.start.load(std::memory_order_acquire);
    if (start == 0 || address < start || address >= slot.end.load(std::memory_order_acquire)) continue;
    slot.damaged.store(true, std::memory_order_release);
    ours = true;
  }
  void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
  return ours && mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void on_sigbus(int signal, siginfo_t* detail, void* context) {
  if (repair(reinterpret_cast<uintptr_t>(detail->si_addr))) return;
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, detail, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Not ours and nobody else's: the default action happens when the faulting instruction runs again.
    sigaction(SIGBUS, &previous, nullptr);
  }
}

// Installed once: a second time could put a handler below ours that chains to us, and an unrelated fault would go in
// circles.
void install_handler() {
  static bool installed = false;
  if (installed) return;
  installed = true;
  page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction ours = {};
  ours.sa_sigaction = on_sigbus;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, &previous);
}

std::mutex& registry() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

int guard_mapping(const void* start, size_t size) {
  const std::lock_guard lock(registry());
  install_handler();
  for (int i = 0; i < kSlots; ++i) {
    if (slots[i].start.load() != 0) continue;
    slots[i].damaged = false;
    slots[i].end = reinterpret_cast<uintptr_t>(start) + size;
    slots[i].start = reinterpret_cast<uintptr_t>(start);
    return i;
  }
  throw model_error(std::to_string(kSlots) + " model files are open, no more can be watched over; close some encoders");
}

void unguard_mapping(int slot) {
  const std::lock_guard lock(registry());
  if (slot >= 0) slots[slot].start = 0;
}

bool mapping_damaged(int slot) { return slot >= 0 && slots[slot].damaged.load(std::memory_order_acquire); }

}  // namespace bankml
