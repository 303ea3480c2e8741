// Every operation on a file from an untrusted source: its variables are read, only both ends if
// they are large; it is verified, recovered, appended to.
#pragma once

#include <optional>

#include "commit/publish/recovery.hpp"
#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"
#include "exec/transport/solo_transport.hpp"
#include "fuzz/mutants.hpp"

namespace sluice::test {

/// For larger dimensions only the first and the last few elements are read.
inline constexpr std::uint64_t most_extent = 8;

inline void read_ends(commit::Input& input, std::uint32_t v, std::uint64_t step) {
  const model::Definition& d = input.variables()[v].definition;
  const model::Dims shape = input.shape(v, step);
  for (const bool is_far : {false, true}) {
    model::Box box = model::whole(shape);
    for (int i = 0; i < shape.rank(); ++i) {
      box.count[i] = std::min(shape[i], most_extent);
      box.start[i] = is_far ? shape[i] - box.count[i] : 0;
    }
    if (box.volume() * d.type.bytes > budget_bytes) {
      continue;  // of the caller's own memory
    }
    std::vector<std::byte> bytes(box.volume() * d.type.bytes);
    input.get(commit::dense_request(v, step, box, bytes.data(), d.type));
  }
}

/// The first thing that was refused.
using Refused = std::optional<Error>;

/// An error of one variable must not hide the others.
template <class Work>
void may_refuse(Refused& refused, Work&& work) {
  try {
    work();
  } catch (const Error& e) {
    refused = refused ? refused : e;
  }
}

inline void read_variables(exec::Transport& transport, storage::Storage& storage,
                           const std::string& path, Refused& refused) {
  Options options;
  options.budget_bytes = budget_bytes;
  commit::Input input(transport, storage, path, options);
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    const std::uint64_t steps = input.variables()[v].definition.stepped ? input.steps() : 1;
    for (std::uint64_t step = 0; step < steps; step += std::max<std::uint64_t>(1, steps / 3)) {
      may_refuse(refused, [&] { read_ends(input, v, step); });
    }
  }
  if (input.steps() != 0) {
    input.time(input.steps() - 1);
  }
}

/// Recovers it and appends a variable: what a writer reads of a file is read too, and no file may
/// be created anywhere else.
inline void recover_and_append(exec::Transport& transport,
                               const std::shared_ptr<storage::MemoryStorage>& storage,
                               const std::string& path, Refused& refused) {
  may_refuse(refused, [&] { commit::recover(*storage, path, false); });
  may_refuse(refused, [&] {
    Options options;
    options.budget_bytes = budget_bytes;
    File out(detail::open_on(transport, storage, path, Mode::append, options));
    if (out.variables().size() == 1 || path.ends_with(".dcd")) {
      out.close();  // of a format that holds one variable, or what its codes agreed on
      return;
    }
    const auto more = out.define<float>("more", {4});
    const std::vector<float> values(4, 1);
    out.put(more, values.data());
    out.close();
  });
  for (const std::string& there : storage->paths()) {
    EXPECT_EQ(there.rfind(path, 0), 0U) << there << " was made beside " << path;
  }
}

/// Throws Error if anything in it was refused.
inline void do_all(const std::shared_ptr<storage::MemoryStorage>& storage, const std::string& path,
                   bool appends) {
  Refused refused;
  const auto alone = exec::make_solo();
  exec::Transport& transport = *alone;
  may_refuse(refused, [&] { read_variables(transport, *storage, path, refused); });
  may_refuse(refused, [&] {
    const commit::Verdict verdict = commit::verify(transport, *storage, path);
    if (verdict.finding_count != 0) {
      throw Error(Code::damaged, verdict.findings.front().what);
    }
  });
  if (appends) {
    recover_and_append(transport, storage, path, refused);
  }
  if (refused) {
    throw Error(*refused);
  }
}

}  // namespace sluice::test
