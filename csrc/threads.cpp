#include "threads.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "cpu.h"
#include "error.h"
#include "stage.h"

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
    const int helpers = grow(threads - 1);
    work_ = &work;
    left_.store(helpers, std::memory_order_relaxed);
    for (int i = 0; i < helpers; ++i) workers_[i]->ring();
    work(0);
    finish();
  }

 private:
  // Each worker has a bell of its own: one that is not needed goes on sleeping and costs the others nothing.
  struct alignas(64) Worker {
    std::atomic<uint32_t> rung{0};
    void ring() {
      const Timed timed(Stage::wait);
      rung.fetch_add(1, std::memory_order_release);
      rung.notify_one();
    }
    void wait(uint32_t seen) const {
      const Timed timed(Stage::wait);
      if (!spin([&] { return rung.load(std::memory_order_acquire) == seen; }))
        rung.wait(seen, std::memory_order_acquire);
    }
  };

  // Starts workers until there are `wanted`; returns how many of them there are, fewer when the system refuses.
  int grow(int wanted) {
    try {
      while (static_cast<int>(workers_.size()) < wanted) {
        workers_.push_back(std::make_unique<Worker>());
        // Detached: a worker lives as long as the process, and after fork there is nothing to join.
        std::thread([this, worker = workers_.back().get(), thread = static_cast<int>(workers_.size())] {
          serve(*worker, thread);
        }).detach();
      }
    } catch (const std::system_error&) {
      workers_.pop_back();
    }
    return std::min(static_cast<int>(workers_.size()), std::max(wanted, 0));
  }

  void finish() {
    const Timed timed(Stage::wait);
    if (spin([this] { return left_.load(std::memory_order_acquire) > 0; })) return;
    for (int left; (left = left_.load(std::memory_order_acquire)) > 0;) left_.wait(left, std::memory_order_acquire);
  }

  void serve(const Worker& worker, int thread) {
    const FlushDenormals flush;
    for (uint32_t seen = 0;; ++seen) {  // no ring is missed: the next one comes only after this one was answered
      worker.wait(seen);
      (*work_)(thread);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }

  const std::function<void(int)>* work_ = nullptr;
  std::atomic<int> left_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
};

constexpr int kOwedShare = 4;  // ordinary passes get one part of time for every four of urgent ones

// Who may use the pool: the first of the waiting places, once the pool is free.
class Queue {
 public:
  void take(const Place& place) {
    std::unique_lock lock(mutex_);
    wait(lock, place);
  }

  // Takes the pool if it is free and nobody waits for it.
  bool try_take() {
    const std::lock_guard lock(mutex_);
    if (busy_ || !waiting_.empty()) return false;
    occupy();
    return true;
  }

  void leave(const Place& place) {
    {
      const std::lock_guard lock(mutex_);
      free(place);
    }
    changed_.notify_all();
  }

  // Leaves and takes the pool again, when another place goes before this one.
  void yield(const Place& place) {
    std::unique_lock lock(mutex_);
    settle(place);
    if (waiting_.empty()) return;
    waiting_.insert(place);              // it counts as one that waits: an ordinary one may be owed time itself
    const bool leaves = next() < place;  // an urgent one never for what others are owed: they get it after its pass
    waiting_.erase(place);
    if (!leaves) return;
    free(place);
    changed_.notify_all();
    wait(lock, place);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void wait(std::unique_lock<std::mutex>& lock, const Place& place) {
    waiting_.insert(place);
    changed_.wait(lock, [&] { return !busy_ && next() == place; });
    waiting_.erase(place);
    occupy();
  }

  void occupy() {
    busy_ = true;
    since_ = Clock::now();
  }

  void free(const Place& place) {
    settle(place);
    busy_ = false;
  }

  // The first ordinary place when such are owed time, else the first of all.
  const Place& next() const {
    const auto ordinary = first_ordinary();
    return owed_ > owed_.zero() && ordinary != waiting_.end() ? *ordinary : *waiting_.begin();
  }

  // Accounts for the time since the pool was taken or this was last called.
  void settle(const Place& place) {
    const Clock::time_point now = Clock::now();
    const Clock::duration took = now - since_;
    since_ = now;
    if (!place.urgent()) {
      owed_ = std::max(owed_ - took, Clock::duration::zero());
    } else if (first_ordinary() != waiting_.end()) {
      owed_ += took / kOwedShare;
    }
  }

  std::set<Place>::const_iterator first_ordinary() const {
    return std::find_if(waiting_.begin(), waiting_.end(), [](const Place& place) { return !place.urgent(); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Place> waiting_;
  bool busy_ = false;
  Clock::time_point since_;
  Clock::duration owed_{0};
};

struct Process {
  Pool pool;
  Queue queue;
  std::atomic<uint64_t> places{0};
};

thread_local bool has_turn = false;  // whether a pass of this thread holds the pool

Process* process = nullptr;
std::once_flag made;

// The parent's threads do not exist in the child, and its locks may be held by them: leave both behind.
void after_fork_in_child() {
  process = new Process;
  has_turn = false;
}

Process& shared() {
  std::call_once(made, [] {
    process = new Process;  // never destroyed: its threads outlive static destructors
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
  return *process;
}

}  // namespace

Place::Place(bool urgent) : urgent_(urgent), order_(shared().places.fetch_add(1)) {}

Turn::Turn(const Place& place) : place_(place) {
  if (has_turn) {
    throw input_error(
        "`cancelled` was asked by a pass and encodes itself: it would wait for that pass, which waits for it; encode "
        "before or after");
  }
  shared().queue.take(place_);
  has_turn = true;
}

Turn::Turn(const Place& place, std::try_to_lock_t) : place_(place), held_(!has_turn && shared().queue.try_take()) {
  if (held_) has_turn = true;
}

Turn::~Turn() {
  if (!held_) return;
  has_turn = false;
  shared().queue.leave(place_);
}

void Turn::yield() {
  if (held_) shared().queue.yield(place_);
}

void Turn::run(int threads, const std::function<void(int)>& work) {
  if (held_) return shared().pool.run(threads, work);
  const FlushDenormals flush;
  work(0);
}

}  // namespace bankml
