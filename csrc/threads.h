// One pool of threads for the whole process, lent to one pass at a time: urgent ones first, then first come, first
// served.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace bankml {

// A pass's place in the queue for the pool; taken once, kept until the pass ends. An urgent one goes before those that
// are not; these are owed a quarter of the time that urgent ones took while they waited, so that they always go on.
class Place {
 public:
  explicit Place(bool urgent = false);
  bool operator<(const Place& other) const { return urgent_ != other.urgent_ ? urgent_ : order_ < other.order_; }
  bool operator==(const Place& other) const = default;
  bool urgent() const { return urgent_; }

 private:
  bool urgent_;
  uint64_t order_;
};

// The pool, held for as long as this lives. The constructor waits until the pool is free and it is this place's turn;
// it throws an input_error on a thread that holds the pool already, which would wait for itself.
class Turn {
 public:
  explicit Turn(const Place& place);
  // Never waits: where the pool is not free, or somebody waits for it, `run` has the caller's thread alone.
  Turn(const Place& place, std::try_to_lock_t);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Lets a place that is waiting and goes before this one use the pool; returns at once when there is none.
  void yield();
  // Runs work(thread) on up to `threads` threads, the caller among them, and returns when all are done. Fewer run it
  // when the system refuses a thread, so threads must ask for work (Counter, Outputs), never take it by their number.
  // `work` must not throw. Denormals are flushed.
  void run(int threads, const std::function<void(int thread)>& work);

 private:
  Place place_;
  bool held_ = true;
};

// Shares out the items 0 … count − 1 among threads that ask; each item is given once.
class Counter {
 public:
  explicit Counter(int64_t count) : count_(count) {}
  // The next item, or −1.
  int64_t next() {
    const int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
    return item < count_ ? item : -1;
  }

 private:
  std::atomic<int64_t> next_{0};
  int64_t count_;
};

}  // namespace bankml
