#include "commit/read/latest_good.hpp"

#include <memory>

#include "commit/publish/damage.hpp"
#include "exec/transport/agree.hpp"
#include "layout/portion.hpp"

namespace sluice::commit {

using model::Box;

namespace {

/// The bytes that a rank reads at a time.
constexpr std::uint64_t piece_bytes = 32ULL << 20;

/// Collective: each rank reads its share of the pieces, all in the same number of calls.
void read_variable(exec::Transport& transport, Input& input, std::uint32_t variable,
                   std::uint64_t step, std::vector<std::byte>& buffer) {
  const model::Definition& definition = input.variables()[variable].definition;
  const Box whole = model::whole(input.shape(variable, step));
  const std::vector<Box> pieces = layout::split(whole, definition.type.bytes, piece_bytes);
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  for (std::size_t first = 0; first < pieces.size(); first += ranks) {
    const auto zeros = model::Dims::filled(whole.start.rank(), 0);
    const Box mine = first + rank < pieces.size() ? pieces[first + rank] : Box{zeros, zeros};
    buffer.resize(mine.volume() * definition.type.bytes + 1);  // also for variables without an
                                                               // address
    input.get(dense_request(variable, step, mine, buffer.data(), definition.type));
  }
}

/// Collective. What is wrong with a step; "" if nothing is.
std::string fault_of(exec::Transport& transport, Input& input, std::uint64_t step,
                     std::vector<std::byte>& buffer) {
  try {
    require_parts(input, step);
    for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
      if (input.variables()[v].definition.stepped) {
        read_variable(transport, input, v, step, buffer);
      }
    }
  } catch (const Error& e) {
    if (!is_damage(e.code())) {
      throw;
    }
    return e.what();
  }
  return "";
}

/// Collective.
bool is_unchanged(exec::Transport& transport, const Input& input) {
  const auto message = exec::on_root(
      transport, [&] { return std::vector<std::byte>{std::byte{input.is_unchanged()}}; });
  return message.front() != std::byte{0};
}

}  // namespace

void look_back(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const StepSeen& seen) {
  constexpr int most_looks = 10;  // beside a writer, which changes the file meanwhile
  const auto open = [&] {
    return std::make_unique<Input>(transport, storage, path, Options{}, NeededParts::of_steps);
  };
  auto input = open();
  std::vector<std::byte> buffer;
  for (std::uint64_t step = input->steps(); step-- > 0;) {
    std::string why = fault_of(transport, *input, step, buffer);
    for (int looks = 1; looks < most_looks && !why.empty(); ++looks) {
      if (is_unchanged(transport, *input)) {
        break;
      }
      input = open();
      if (step >= input->steps()) {
        break;  // it was dropped
      }
      why = fault_of(transport, *input, step, buffer);
    }
    if (!seen(*input, step, why)) {
      return;
    }
  }
}

std::optional<std::uint64_t> latest_good(
    exec::Transport& transport, storage::Storage& storage, const std::string& path,
    const std::function<void(std::uint64_t step, const std::string& why)>& seen) {
  std::optional<std::uint64_t> good;
  look_back(transport, storage, path,
            [&](const Input&, std::uint64_t step, const std::string& why) {
              if (seen) {
                seen(step, why);
              }
              if (why.empty()) {
                good = step;
              }
              return !good;
            });
  return good;
}

}  // namespace sluice::commit
