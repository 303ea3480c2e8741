#include "sluice/error.hpp"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

struct Entry {
  Code code;
  const char* name;
};

constexpr auto entries = std::to_array<Entry>({
    {Code::ok, "ok"},
    {Code::invalid_argument, "invalid_argument"},
    {Code::out_of_bounds, "out_of_bounds"},
    {Code::overlap, "overlap"},
    {Code::hole, "hole"},
    {Code::duplicate_row, "duplicate_row"},
    {Code::missing_row, "missing_row"},
    {Code::type_mismatch, "type_mismatch"},
    {Code::overflow, "overflow"},
    {Code::bad_name, "bad_name"},
    {Code::wrong_state, "wrong_state"},
    {Code::not_found, "not_found"},
    {Code::exists, "exists"},
    {Code::permission, "permission"},
    {Code::io, "io"},
    {Code::no_space, "no_space"},
    {Code::truncated, "truncated"},
    {Code::format, "format"},
    {Code::version, "version"},
    {Code::damaged, "damaged"},
    {Code::changed_outside, "changed_outside"},
    {Code::unsupported, "unsupported"},
    {Code::locked, "locked"},
    {Code::timeout, "timeout"},
    {Code::divergent, "divergent"},
    {Code::over_budget, "over_budget"},
    {Code::mpi, "mpi"},
    {Code::internal, "internal"},
});

}  // namespace

const char* code_name(Code code) noexcept {
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& each) { return each.code == code; });
  return entry == entries.end() ? "unknown" : entry->name;  // unknown: from a newer version
}

}  // namespace sluice
