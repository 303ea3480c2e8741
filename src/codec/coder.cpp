#include <algorithm>
#include <limits>

#include "codec/filter.hpp"
#include "codec/methods.hpp"
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
  return scratch_[which].take(bytes);
}

Coder::Encoded Coder::encode(std::span<const std::byte> dense) {
  std::span<const std::byte> bytes;
  // Applies all filters but those of the mask. The first that does not fit its room, or their
  // number.
  const auto apply = [&](std::uint32_t mask) {
    bytes = dense;
    std::size_t which = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if ((mask >> i & 1) != 0) {
        continue;
      }
      const Stage& stage = stages_[i];
      const std::size_t most = stage.method->compresses ? std::max<std::size_t>(1, bytes.size()) - 1
                                                        : bytes.size() + stage.method->added_bytes;
      const std::span<std::byte> out = room(which, most);
      const std::size_t size = stage.worker->encode(stage.parameters, bytes, out);
      if (size == 0) {
        return i;
      }
      bytes = out.first(size);
      which = 1 - which;
    }
    return stages_.size();
  };
  std::uint32_t mask = 0;
  for (std::size_t failed = apply(mask); failed != stages_.size(); failed = apply(mask)) {
    // What is in front of a compressor for its sake alone is left out with it.
    mask |= std::uint32_t{1} << failed;
    for (std::size_t i = 0; i < failed; ++i) {
      const bool is_checksum = stages_[i].method->id == fletcher32_id;
      mask |= is_checksum ? 0 : std::uint32_t{1} << i;
    }
  }
  return {bytes, mask};
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
      size = has_known_length(method) && size != unknown ? size + method.added_bytes : unknown;
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
