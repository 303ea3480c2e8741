// Sessions with real threads, on one rank without MPI: the writer thread, the program's own, and
// the reader thread. (Also run under ThreadSanitizer.)
#include <atomic>
#include <thread>

#include "exec/transport/solo_transport.hpp"
#include "sessions/local_sessions.hpp"
#include "storage/scratch.hpp"

namespace sluice::test {
namespace {

SessionFile open_alone(exec::Transport& transport, const std::string& path, Mode mode,
                       bool gather = true) {
  Options options;
  options.tile_bytes = 8192;
  options.budget_bytes = 256 << 10;
  options.coalesce = gather;
  options.timeout_s = 60;
  return SessionFile(
      std::make_unique<detail::SessionImpl>(transport, storage::make_posix(), path, mode, options));
}

TEST(Threads, of_the_program_write_while_one_polls) {
  for (const bool gather : {true, false}) {
    const storage::Scratch scratch;
    const auto transport = exec::make_solo();
    SessionFile out = open_alone(*transport, scratch / "f", Mode::write, gather);
    constexpr int threads = 4;
    constexpr std::uint64_t each = 200000;
    int completed = 0;
    const Session session = out.start(0, threads * each, {.complete = [&](const Error* failure) {
                                        EXPECT_EQ(failure, nullptr);
                                        ++completed;
                                      }});
    std::atomic<int> running = threads;
    std::vector<std::thread> writers;
    for (std::uint64_t t = 0; t < threads; ++t) {
      writers.emplace_back([&, t] {
        for (std::uint64_t at = t; at < threads * each; at += 500 * threads) {
          // Every fourth stretch of 500 bytes.
          const std::uint64_t first = at / (500 * threads) * (500 * threads) + 500 * t;
          out.write(session, bytes_at(first, 500).data(), 500, first);
        }
        --running;
      });
    }
    while (running > 0) {
      out.poll();
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    out.wait(session);
    EXPECT_EQ(completed, 1);
    out.close();
    SessionFile in = open_alone(*transport, scratch / "f", Mode::read);
    const Session reading = in.start(0, threads * each);
    in.wait(reading);
    std::vector<std::byte> got(threads * each);
    in.read(reading, got.data(), got.size(), 0);
    in.wait_for_reads();
    EXPECT_TRUE(got == bytes_at(0, got.size()));
    in.end(reading);
    in.close();
  }
}

TEST(Threads, of_another_than_the_opener_destroys_a_file) {
  const storage::Scratch scratch;
  const auto transport = exec::make_solo();
  const auto other_transport = exec::make_solo();
  SessionFile out = open_alone(*transport, scratch / "f", Mode::write);
  auto other =
      std::make_unique<SessionFile>(open_alone(*other_transport, scratch / "other", Mode::write));
  std::thread([&] { other.reset(); }).join();
  const Session session = out.start(0, 1000);
  out.write(session, bytes_at(0, 1000).data(), 1000, 0);
  out.wait(session);  // progresses all files of this thread
  out.close();
}

}  // namespace
}  // namespace sluice::test
