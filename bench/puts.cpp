// The cost of putting one element: ten million doubles, one call each, into a stepped variable.
//
//   bench_puts [elements [steps]]
//
// Contestants take turns, step by step, in one process and one file each; the first step, in which
// memory is made and touched, is told apart from the median of the others. `store` is the limit:
// the same loop writing into a plain array. Allocations are counted in the loop of puts alone.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

#include "api/file/file_impl.hpp"
#include "exec/transport/solo_transport.hpp"
#include "sluice/sluice.h"
#include "sluice/sluice.hpp"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

struct Sample {
  double ns_per_put = 0;
  std::uint64_t allocations = 0;
};

/// One contestant: begin a step, put every element, end the step.
struct Contestant {
  std::string name;
  std::function<void()> begin;
  std::function<void(std::int64_t)> put_all;
  std::function<void()> end;
  std::vector<Sample> samples;
};

/// Of this thread, so that other programs on the machine count little.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double value_at(std::int64_t i) { return static_cast<double>(i) * 0.5; }

void check(int code) {
  if (code != SLUICE_OK) {
    std::fprintf(stderr, "bench_puts: %s\n", sluice_last_error(nullptr));
    std::exit(1);
  }
}

constexpr const char* quick = "durability = \"none\"\nchecksum = false\ncheck = \"off\"";

/// The limit: a store each.
Contestant store(std::int64_t elements) {
  auto room = std::make_shared<std::vector<double>>(static_cast<std::size_t>(elements));
  return {"store",
          [] {},
          [room](std::int64_t count) {
            volatile double* to = room->data();
            for (std::int64_t i = 0; i < count; ++i) {
              to[i] = value_at(i);
            }
          },
          [] {},
          {}};
}

Contestant cpp(const std::string& folder, std::int64_t elements) {
  sluice::Options options;
  options.durability = sluice::Durability::none;
  options.check = sluice::Check::off;
  options.checksum = false;
  auto file = std::make_shared<sluice::File>(std::make_unique<sluice::detail::FileImpl>(
      sluice::exec::make_solo(), folder + "/cpp.h5", sluice::Mode::write, options));
  const auto variable =
      file->define<double>("x", {static_cast<std::uint64_t>(elements)}, {.steps = true});
  auto step = std::make_shared<std::unique_ptr<sluice::Step>>();
  return {"C++ put_value",
          [=] { *step = std::make_unique<sluice::Step>(file->begin_step()); },
          [=](std::int64_t count) {
            sluice::Step& out = **step;
            for (std::int64_t i = 0; i < count; ++i) {
              out.put_value(variable, value_at(i), {static_cast<std::uint64_t>(i)});
            }
          },
          [=] { (*step)->end(); },
          {}};
}

struct CFile {
  sluice_file* file = nullptr;
  sluice_variable x = -1;
  sluice_variable y = -1;

  CFile(const std::string& path, int rank, const std::int64_t* shape, bool two) {
    sluice_variable_options options = SLUICE_VARIABLE_OPTIONS_INIT;
    options.steps = 1;
    check(sluice_open_serial(path.c_str(), "w", quick, &file));
    check(sluice_define(file, "x", SLUICE_FLOAT64, rank, shape, &options, &x));
    if (two) {
      check(sluice_define(file, "y", SLUICE_FLOAT64, rank, shape, &options, &y));
    }
  }
  ~CFile() {
    check(sluice_close(file));
    sluice_free(file);
  }
  CFile(const CFile&) = delete;
  CFile& operator=(const CFile&) = delete;
};

Contestant c(const std::string& name, const std::string& path, std::int64_t elements, int rank,
             const std::function<void(CFile&, std::int64_t)>& put_all) {
  const std::int64_t line[1] = {elements};
  const std::int64_t rows[2] = {elements / 3, 3};
  const bool two = name.find("two") != std::string::npos;
  const std::int64_t half[1] = {elements / 2};
  auto out = std::make_shared<CFile>(path, rank, rank == 2 ? rows : two ? half : line, two);
  return {name,
          [=] { check(sluice_begin_step(out->file, 0)); },
          [=](std::int64_t count) { put_all(*out, count); },
          [=] { check(sluice_end_step(out->file, nullptr)); },
          {}};
}

void put_each(CFile& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = value_at(i);
    if (sluice_put_value(out.file, out.x, SLUICE_FLOAT64, &value, 1, &i) != SLUICE_OK) {
      check(sluice_last_error_code(out.file));
    }
  }
}

void put_each_as_box(CFile& out, std::int64_t count) {
  const std::int64_t one = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = value_at(i);
    if (sluice_put(out.file, out.x, SLUICE_FLOAT64, &value, 1, &i, &one) != SLUICE_OK) {
      check(sluice_last_error_code(out.file));
    }
  }
}

void put_two_in_turn(CFile& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count / 2; ++i) {
    const double value = value_at(i);
    if (sluice_put_value(out.file, out.x, SLUICE_FLOAT64, &value, 1, &i) != SLUICE_OK ||
        sluice_put_value(out.file, out.y, SLUICE_FLOAT64, &value, 1, &i) != SLUICE_OK) {
      check(sluice_last_error_code(out.file));
    }
  }
}

void put_rows_of_three(CFile& out, std::int64_t count) {
  for (std::int64_t i = 0; i < count / 3 * 3; ++i) {
    const double value = value_at(i);
    const std::int64_t at[2] = {i / 3, i % 3};
    if (sluice_put_value(out.file, out.x, SLUICE_FLOAT64, &value, 2, at) != SLUICE_OK) {
      check(sluice_last_error_code(out.file));
    }
  }
}

void measure(std::vector<Contestant>& contestants, std::int64_t elements, int steps) {
  for (int step = 0; step < steps; ++step) {
    for (Contestant& contestant : contestants) {
      contestant.begin();
      const std::uint64_t before = allocations.load();
      const double from = cpu_ns();
      contestant.put_all(elements);
      const double took = cpu_ns() - from;
      contestant.samples.push_back(
          {took / static_cast<double>(elements), allocations.load() - before});
      contestant.end();
    }
  }
}

void print(std::vector<Contestant>& contestants, std::int64_t elements) {
  std::printf("%lld elements, one put each\n%-24s %14s %12s %12s %14s %12s\n",
              static_cast<long long>(elements), "", "first step ns", "median ns", "best ns",
              "allocations", "then");
  for (Contestant& contestant : contestants) {
    const Sample first = contestant.samples.front();
    std::vector<Sample> later(contestant.samples.begin() + 1, contestant.samples.end());
    std::sort(later.begin(), later.end(),
              [](const Sample& a, const Sample& b) { return a.ns_per_put < b.ns_per_put; });
    std::printf("%-24s %14.2f %12.2f %12.2f %14llu %12llu\n", contestant.name.c_str(),
                first.ns_per_put, later[later.size() / 2].ns_per_put, later.front().ns_per_put,
                static_cast<unsigned long long>(first.allocations),
                static_cast<unsigned long long>(later[later.size() / 2].allocations));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t elements = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 6;
  if (elements < 6 || steps < 2) {
    std::fprintf(stderr, "usage: bench_puts [elements >= 6 [steps >= 2]]\n");
    return 2;
  }
  const std::string folder = "bench-puts-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  {
    std::vector<Contestant> contestants;
    contestants.push_back(store(elements));
    contestants.push_back(cpp(folder, elements));
    contestants.push_back(c("C put_value", folder + "/c.h5", elements, 1, put_each));
    contestants.push_back(c("C put, count 1", folder + "/box.h5", elements, 1, put_each_as_box));
    contestants.push_back(
        c("C, two variables in turn", folder + "/two.h5", elements, 1, put_two_in_turn));
    contestants.push_back(c("C, rows of 3", folder + "/rows.h5", elements, 2, put_rows_of_three));
    measure(contestants, elements, steps);
    print(contestants, elements);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
