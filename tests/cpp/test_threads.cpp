// The pool: every item once, the order of turns, denormals, and a child after fork (csrc/threads, csrc/cpu).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"
#include "cpu.h"
#include "threads.h"

using namespace bankml;

namespace {

// Runs `items` counted items on `threads` threads and gives how often each was seen.
std::vector<int> seen(Turn& turn, int threads, int items) {
  std::vector<std::atomic<int>> counts(items);
  Counter work(items);
  turn.run(threads, [&](int) {
    for (int64_t item; (item = work.next()) >= 0;) counts[item]++;
  });
  return {counts.begin(), counts.end()};
}

float half_of_smallest() {
  volatile float smallest = 1.17549435e-38f;
  volatile float half = 0.5f;
  return smallest * half;
}

}  // namespace

TEST(threads_every_item_once) {
  const Place place;
  Turn turn(place);
  for (const int threads : {1, 2, 3, 7}) {
    for (const int items : {0, 1, 2, 100, 1000}) CHECK(seen(turn, threads, items) == std::vector<int>(items, 1));
  }
}

TEST(threads_many_callers) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Place place;
        Turn turn(place);
        if (seen(turn, 3, 40) != std::vector<int>(40, 1)) wrong++;
        turn.yield();
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
}

// Workers that one caller asked for sleep through the work of the others: their number must not slow it. What they
// would cost is counted, as how often threads went to sleep: time would tell how busy the machine is.
TEST(threads_workers_that_are_not_needed_cost_nothing) {
  constexpr int kRuns = 300;
  const Place place;
  Turn turn(place);
  seen(turn, 200, 1000);
  const auto sleeps = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  const auto before = sleeps();
  for (int i = 0; i < kRuns; ++i) seen(turn, 2, 4);
  CHECK(sleeps() - before < 20 * kRuns);  // two or so a run; waking all 200 each time takes 199
}

// A pass that is running keeps the pool from a later one, and lets an earlier one in at its next layer.
TEST(threads_turns_first_come_first_served) {
  const Place earlier, running, later_one;
  std::atomic<int> waiting{0};
  std::vector<char> order;  // written only by the holder of the turn
  auto turn = std::make_unique<Turn>(running);
  const auto later = [&](const Place& place, char name) {
    return std::thread([&, name] {
      waiting++;
      const Turn mine(place);
      order.push_back(name);
    });
  };
  std::thread b = later(later_one, 'b');
  while (waiting < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  turn->yield();  // b came later: it must go on waiting
  order.push_back('a');
  std::thread c = later(earlier, 'c');
  for (int looks = 0; order.size() < 2 && looks < 600; ++looks) {  // a busy machine may take its time to start c
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    turn->yield();  // c came first: it runs here
  }
  order.push_back('a');
  turn.reset();
  b.join();
  c.join();
  CHECK((order == std::vector<char>{'a', 'c', 'a', 'b'}));
}

// Urgent places go before earlier ones that are not; those get their share of the time while urgent ones come and come.
TEST(threads_urgent_turns_go_first_and_leave_a_share) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kOrdinary = std::chrono::milliseconds(2), kUrgent = std::chrono::milliseconds(10);
  std::atomic<bool> ended{false};
  std::atomic<int> slices{0}, urgent_slices{0}, interrupted{0}, asking{0};
  std::atomic<int64_t> held{0}, urgent_held{0};  // ns, of ordinary ones while urgent ones waited, and of these
  const auto pass = [&](bool urgent) {
    asking += urgent;
    const Place place(urgent);
    Turn turn(place);
    asking -= urgent;
    const int before = slices;
    for (int layer = 0; layer < 4 && !ended; ++layer) {
      interrupted += urgent && slices != before;  // what others are owed they get between urgent passes
      const bool counts = urgent || asking > 0;
      const auto start = Clock::now();
      std::this_thread::sleep_for(urgent ? kUrgent : kOrdinary);
      if (counts) (urgent ? urgent_held : held) += std::chrono::nanoseconds(Clock::now() - start).count();
      (urgent ? urgent_slices : slices)++;
      turn.yield();
    }
  };
  const auto work = [&](bool urgent) {
    return std::thread([&, urgent] {
      while (!ended) pass(urgent);
    });
  };
  std::vector<std::thread> callers;
  callers.push_back(work(false));
  const auto until = [](const std::atomic<int>& count, int wanted) {
    while (count < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  until(slices, 2);
  for (int i = 0; i < 3; ++i) callers.push_back(work(true));  // one always waits while another works
  until(urgent_slices, 80);
  ended = true;
  for (std::thread& caller : callers) caller.join();
  // Owed a quarter of 800 ms in slices of 2 ms. One slice after each urgent pass would be 40 ms; first come, first
  // served a pass of four slices between two urgent passes, 40 ms or less too, and those would not have gone first.
  CHECK(interrupted == 0);
  CHECK(held * 40 >= urgent_held * 3);
  CHECK(held * 2 <= urgent_held);
}

TEST(threads_flush_denormals_and_restore) {
  CHECK(half_of_smallest() > 0);
  const Place place;
  Turn turn(place);
  std::atomic<int> kept{0};
  turn.run(2, [&](int) { kept += half_of_smallest() > 0; });
  CHECK(kept == 0);
  CHECK(half_of_smallest() > 0);
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer does not follow threads started after fork
TEST(threads_child_after_fork_has_its_own_pool) {
  {
    const Place place;
    Turn turn(place);
    seen(turn, 2, 10);
  }
  const pid_t child = fork();
  if (child == 0) {
    const Place place;
    Turn turn(place);
    _exit(seen(turn, 2, 100) == std::vector<int>(100, 1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(cpu_usable_cores_is_sensible) {
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}
