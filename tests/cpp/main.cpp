// Runs every TEST whose name contains argv[1] (all without it; with a "-" in front, those whose name does not contain
// the rest); prints one line a failure and a last line of counts.
#include <cstdlib>
#include <new>

#include "allocations.h"
#include "check.h"

namespace {

thread_local size_t allocated = 0;

}  // namespace

size_t check::allocations() { return allocated; }

void* operator new(size_t size) {
  allocated++;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  const bool without = argc > 1 && argv[1][0] == '-';
  const std::string part = argc > 1 ? argv[1] + without : "";
  int run = 0, failed = 0;
  for (const auto& test : check::cases()) {
    if ((std::string(test.name).find(part) == std::string::npos) != without) continue;
    const int before = check::failures();
    try {
      test.run();
    } catch (const std::exception& error) {
      check::fail(test.name, 0, std::string("uncaught: ") + error.what());
    }
    run++;
    if (check::failures() > before) {
      failed++;
      std::fprintf(stderr, "FAILED %s\n", test.name);
    }
  }
  std::printf("%d passed, %d failed\n", run - failed, failed);
  return failed == 0 ? 0 : 1;
}
