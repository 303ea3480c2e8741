#include <algorithm>
#include <cstring>
#include <limits>

#include "codec/filter.hpp"
#include "codec/plugins.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {

namespace {

constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

}  // namespace

struct Coder::Stage {
  Parameters parameters;
  std::shared_ptr<const Method> method;
  std::unique_ptr<Worker> worker;
};

Coder::Coder(const Pipeline& pipeline) {
  require_plugins(pipeline);
  for (const Filter& filter : pipeline) {
    auto method = find_method(filter.id);
    if (!method || !can_decode(pipeline)) {
      throw Error(Code::unsupported,
                  "filter " + std::to_string(filter.id) + " is not in this build");
    }
    auto worker = method->make();
    stages_.push_back({filter.parameters, std::move(method), std::move(worker)});
  }
}

Coder::~Coder() = default;
// The compiler's own loop over an array has a name that no one else may use.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
Coder::Coder(Coder&&) noexcept = default;
Coder& Coder::operator=(Coder&&) noexcept = default;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

std::span<std::byte> Coder::room(std::size_t which, std::size_t bytes) {
  if (scratch_[which].size() < bytes) {
    scratch_[which].resize(bytes);
  }
  return std::span(scratch_[which]).first(bytes);
}

Coder::Encoded Coder::encode(std::span<const std::byte> dense) {
  const auto left_out =
      stages_.empty() ? 0 : std::numeric_limits<std::uint32_t>::max() >> (32 - stages_.size());
  std::span<const std::byte> bytes = dense;
  std::size_t which = 0;
  for (const Stage& stage : stages_) {
    const std::size_t most = stage.method->compresses ? std::max<std::size_t>(1, bytes.size()) - 1
                                                      : bytes.size() + stage.method->added_bytes;
    const std::span<std::byte> out = room(which, most);
    const std::size_t size = stage.worker->encode(stage.parameters, bytes, out);
    if (size == 0) {
      return {dense, left_out};
    }
    bytes = out.first(size);
    which = 1 - which;
  }
  return {bytes, 0};
}

void Coder::decode(std::span<const std::byte> stored, std::uint32_t mask,
                   std::span<std::byte> dense) {
  std::vector<std::size_t> used;
  std::vector<std::size_t> sizes;  // of what went into each stage that was used
  std::size_t size = dense.size();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if ((mask >> i & 1) == 0) {
      used.push_back(i);
      sizes.push_back(size);
      const Method& method = *stages_[i].method;
      size = method.compresses || size == unknown ? unknown : size + method.added_bytes;
    }
  }
  if (used.empty()) {
    if (stored.size() != dense.size()) {
      throw Error(Code::damaged, std::to_string(stored.size()) + " bytes stored unfiltered, not " +
                                     std::to_string(dense.size()));
    }
    std::copy(stored.begin(), stored.end(), dense.begin());
    return;
  }
  std::span<const std::byte> bytes = stored;
  std::size_t which = 0;
  for (std::size_t u = used.size(); u-- > 0;) {
    const Stage& stage = stages_[used[u]];
    const std::size_t added = stage.method->added_bytes;
    const bool is_short = sizes[u] == unknown && bytes.size() < added;
    const std::size_t wanted = sizes[u] == unknown && !is_short ? bytes.size() - added : sizes[u];
    std::span<std::byte> out = dense;
    if (u != 0) {
      out = is_short ? std::span<std::byte>() : room(which, wanted);
    }
    if (is_short || !stage.worker->decode(stage.parameters, bytes, out)) {
      throw Error(Code::damaged, stage.method->name + " cannot be undone: " +
                                     std::to_string(bytes.size()) + " bytes, which should give " +
                                     std::to_string(wanted == unknown ? 0 : wanted));
    }
    bytes = out;
    which = 1 - which;
  }
}

}  // namespace sluice::codec
