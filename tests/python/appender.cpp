// appender FILE: adds one step to the files of `writer`: values 1000 + index in types/float64, and
// fill values elsewhere as far as that is allowed; all other variables get zeros.
#include <cstdio>
#include <deque>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace {

using namespace sluice;
using namespace sluice::test;

void append(exec::Transport& transport, const std::string& path) {
  std::vector<VariableInfo> infos;
  {
    File in(detail::open_on(transport, storage::make("posix"), path, Mode::read));
    infos = in.variables();
  }
  transport.barrier();
  File out(detail::open_on(transport, storage::make("posix"), path, Mode::append));
  std::deque<std::vector<std::byte>> held;
  Step step = out.begin_step({.time = 99});
  for (const VariableInfo& info : infos) {
    if (!info.steps) {
      continue;
    }
    const model::Box box = slab(info.shape, transport.rank(), transport.size());
    held.emplace_back(box.volume() * info.type.bytes + 1);
    if (info.name == "types/float64") {
      for_each_element(dims_of(info.shape), box, [&](std::uint64_t index, std::uint64_t k) {
        const double value = 1000.0 + static_cast<double>(index);
        std::memcpy(&held.back()[k * sizeof value], &value, sizeof value);
      });
    }
    step.put_raw(out.find(info.name), held.back().data(), info.type, selection_of(box));
  }
  step.end();
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: appender FILE\n");
    return 2;
  }
  try {
    exec::run_local(3, 1, [&](exec::Transport& transport) { append(transport, argv[1]); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "appender: %s\n", error.what());
    return 1;
  }
  return 0;
}
