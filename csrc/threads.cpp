#include "threads.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bankml {

namespace {

// Regions of one layer follow each other within microseconds; sleeping between them would cost a wake-up (about 50 µs)
// each.
constexpr auto kSpin = std::chrono::microseconds(20);

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Spins while `waiting` holds, for at most kSpin; true when it stopped holding.
template <class Waiting>
bool spin(const Waiting& waiting) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  for (int i = 1; waiting(); ++i) {
    relax();
    if (i % 64 == 0 && std::chrono::steady_clock::now() > end) return !waiting();
  }
  return true;
}

class Pool {
 public:
  void run(int threads, const std::function<void(int)>& work) {
    const FlushDenormals flush;
    threads = 1 + grow(threads - 1);
    if (threads == 1) return work(0);
    begin(threads, work);
    work(0);
    finish();
  }

 private:
  // Starts workers until there are `wanted`; returns how many of them there are, fewer when the system refuses.
  int grow(int wanted) {
    try {
      for (; workers_ < wanted; ++workers_) {
        // Detached: a worker lives as long as the process, and after fork there is nothing to join.
        std::thread([this, thread = workers_ + 1, seen = generation_.load()] { serve(thread, seen); }).detach();
      }
    } catch (const std::system_error&) {
    }
    return std::min(workers_, wanted);
  }

  void begin(int threads, const std::function<void(int)>& work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      threads_ = threads;
      left_.store(workers_, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
  }

  void finish() {
    const auto busy = [this] { return left_.load(std::memory_order_acquire) > 0; };
    if (spin(busy)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return !busy(); });
  }

  void serve(int thread, uint64_t seen) {
    const FlushDenormals flush;
    for (;;) {
      const auto idle = [&] { return generation_.load(std::memory_order_acquire) == seen; };
      if (!spin(idle)) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !idle(); });
      }
      ++seen;  // a generation ends only when every worker has answered, so none is skipped
      if (thread < threads_) (*work_)(thread);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard lock(mutex_);
        done_.notify_one();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> left_{0};
  int threads_ = 0;
  const std::function<void(int)>* work_ = nullptr;
  int workers_ = 0;
};

// Who may use the pool: the waiting place with the lowest order, once the pool is free.
struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<uint64_t> waiting;
  bool busy = false;

  void take(std::unique_lock<std::mutex>& lock, uint64_t order) {
    waiting.insert(order);
    changed.wait(lock, [&] { return !busy && *waiting.begin() == order; });
    waiting.erase(order);
    busy = true;
  }
};

struct Process {
  Pool pool;
  Queue queue;
  std::atomic<uint64_t> places{0};
};

Process* process = nullptr;
std::once_flag made;

// The parent's threads do not exist in the child, and its locks may be held by them: leave both behind.
void after_fork_in_child() { process = new Process; }

Process& shared() {
  std::call_once(made, [] {
    process = new Process;  // never destroyed: its threads outlive static destructors
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
  return *process;
}

}  // namespace

Place::Place() : order_(shared().places.fetch_add(1)) {}

Turn::Turn(const Place& place) : order_(place.order()) {
  Queue& queue = shared().queue;
  std::unique_lock lock(queue.mutex);
  queue.take(lock, order_);
}

Turn::~Turn() {
  Queue& queue = shared().queue;
  {
    const std::lock_guard lock(queue.mutex);
    queue.busy = false;
  }
  queue.changed.notify_all();
}

void Turn::yield() {
  Queue& queue = shared().queue;
  std::unique_lock lock(queue.mutex);
  if (queue.waiting.empty() || *queue.waiting.begin() > order_) return;
  queue.busy = false;
  queue.changed.notify_all();
  queue.take(lock, order_);
}

void Turn::run(int threads, const std::function<void(int)>& work) { shared().pool.run(threads, work); }

}  // namespace bankml
