// The list of the strategies.
#include <algorithm>
#include <array>
#include <mutex>

#include "model/word.hpp"
#include "plan/plan.hpp"
#include "sluice/error.hpp"

namespace sluice::plan {

// Each is defined in the file of its name.
extern const Strategy serial_strategy;
extern const Strategy shared_strategy;
extern const Strategy collective_strategy;
extern const Strategy forward_strategy;
extern const Strategy auto_strategy;
extern const Strategy per_process_strategy;
extern const Strategy per_node_strategy;

namespace {

/// A new strategy needs a line here, and one above.
constexpr std::array<const Strategy*, 7> built_in{
    &serial_strategy, &shared_strategy,      &collective_strategy, &forward_strategy,
    &auto_strategy,   &per_process_strategy, &per_node_strategy,
};

struct Registry {
  std::mutex mutex;
  std::vector<const Strategy*> rows{built_in.begin(), built_in.end()};
};

Registry& all_strategies() {
  static auto* const only = new Registry;  // files of static lifetime are closed after main()
  return *only;
}

const Strategy* find_in(const std::vector<const Strategy*>& rows, std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Strategy* row) { return row->name == name; });
  return found == rows.end() ? nullptr : *found;
}

void check_row(const Strategy& row, const std::vector<const Strategy*>& rows) {
  const auto refuse_row = [&](const std::string& why) {
    throw Error(Code::invalid_argument, std::string("register_strategy: ") +
                                            (row.name != nullptr ? row.name : "(no name)") + ": " +
                                            why);
  };
  if (row.name == nullptr || !model::is_word(row.name)) {
    refuse_row("its name must be a word of lower-case letters, digits and dashes");
  }
  if (find_in(rows, row.name) != nullptr) {
    refuse_row("there is a strategy of that name");
  }
  const bool writes_one = row.openers != nullptr && row.plan != nullptr;
  const bool writes_set = row.group != nullptr && row.within_part != nullptr;
  if (writes_one == writes_set) {
    refuse_row("it needs either openers and plan, or group and within_part");
  }
  if ((row.candidates == nullptr) != (row.seconds == nullptr)) {
    refuse_row("candidates and seconds belong together");
  }
}

}  // namespace

std::vector<const Strategy*> strategies() {
  Registry& all = all_strategies();
  const std::lock_guard lock(all.mutex);
  return all.rows;
}

void register_strategy(const Strategy& row) {
  Registry& all = all_strategies();
  const std::lock_guard lock(all.mutex);
  check_row(row, all.rows);
  all.rows.push_back(&row);
}

std::string strategy_names(const std::string& separator) {
  std::string names;
  for (const Strategy* row : strategies()) {
    names += (names.empty() ? "" : separator) + row->name;
  }
  return names;
}

const Strategy* find_strategy(std::string_view name) {
  Registry& all = all_strategies();
  const std::lock_guard lock(all.mutex);
  return find_in(all.rows, name);
}

const Strategy& strategy(std::string_view name) {
  const Strategy* found = find_strategy(name);
  if (found == nullptr) {
    throw Error(Code::invalid_argument, "strategy \"" + std::string(name) +
                                            "\" is not known: use one of " + strategy_names(", "));
  }
  return *found;
}

bool chooses(std::string_view name) {
  const Strategy* found = find_strategy(name);
  return found != nullptr && found->chooses;
}

}  // namespace sluice::plan
