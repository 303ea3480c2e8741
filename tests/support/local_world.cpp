#include "support/local_world.hpp"

#include <numeric>
#include <utility>

namespace sluice::exec {

namespace {

constexpr int max_ranks = 8192;
constexpr std::int64_t idle_polls_per_rank =
    1000;  // without progress, before polling counts as idle

struct Current {
  LocalWorld* world = nullptr;
  int rank = -1;
};

thread_local Current t_current;

std::vector<int> up_to(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int> nodes_of(int ranks, int ranks_per_node) {
  std::vector<int> nodes(static_cast<std::size_t>(ranks), 0);
  for (int rank = 0; ranks_per_node > 0 && rank < ranks; ++rank) {
    nodes[static_cast<std::size_t>(rank)] = rank / ranks_per_node;
  }
  return nodes;
}

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

bool is_timeout(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == Code::timeout;
  } catch (...) {
    return false;
  }
}

}  // namespace

// -- the world
// --------------------------------------------------------------------------------------

LocalWorld::LocalWorld(int ranks, std::uint64_t seed, const LocalOptions& options)
    : options_(options),
      scheduler_(ranks, seed, options, [this] { judge_all(); }),
      all_(std::make_shared<LocalGroup>(*this, up_to(ranks),
                                        nodes_of(ranks, options.ranks_per_node))),
      errors_(static_cast<std::size_t>(ranks)),
      farewells_(static_cast<std::size_t>(ranks)),
      last_progress_(std::chrono::steady_clock::now()) {}

void LocalWorld::run_rank(int rank, const std::function<void(Transport&)>& body) {
  const Current outer = std::exchange(t_current, Current{this, rank});
  try {
    body(*make_local(all_, rank));
  } catch (...) {
    const auto at = static_cast<std::size_t>(rank);
    errors_[at] = std::current_exception();
    farewells_[at] = what_of(errors_[at]);
  }
  progressed();
  t_current = outer;
}

void LocalWorld::run(const std::function<void(Transport&)>& body) {
  scheduler_.run([&](int rank) { run_rank(rank, body); });
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors_) {
    if (error && !is_timeout(error)) {
      std::rethrow_exception(error);
    }
    first = first ? first : error;
  }
  if (first) {
    std::rethrow_exception(first);
  }
}

std::optional<std::string> LocalWorld::departure(int rank) const {
  if (!scheduler_.ended(rank)) {
    return std::nullopt;
  }
  const auto at = static_cast<std::size_t>(rank);
  return errors_[at] ? "left with an error: " + farewells_[at] : std::string("left");
}

void LocalWorld::wait(const std::shared_ptr<LocalGroup>& group, int member, Place place,
                      const std::function<bool()>& ready) {
  const int rank = group->members[static_cast<std::size_t>(member)];
  const Verb verb = place.verb;
  // Other ranks fail or succeed only while this rank is blocked or paused.
  waits_[rank] = {group, member, std::move(place)};
  const bool came = scheduler_.block(rank, [&group, &ready] { return group->error() || ready(); });
  waits_.erase(rank);
  progressed();
  if (!came) {
    const Verdict verdict = verdicts_.at(rank);
    verdicts_.erase(rank);
    group->fail_and_throw(member, Error(verdict.code, verdict.text(), member));
  }
  if (!ready()) {
    group->throw_if_failed(member, verb);
  }
}

Verdict LocalWorld::judge_one(const Wait& wait, double seconds) const {
  std::map<int, Place> reports;
  std::map<int, std::string> notes;
  for (int member = 0; member < wait.group->size(); ++member) {
    const int rank = wait.group->members[static_cast<std::size_t>(member)];
    const auto other = waits_.find(rank);
    if (other != waits_.end() && other->second.group == wait.group) {
      reports[member] = other->second.place;
    } else if (other != waits_.end()) {
      notes[member] = std::string("waits in ") + verb_name(other->second.place.verb) +
                      " of another communicator";
    } else if (auto gone = departure(rank)) {
      notes[member] = *gone;
    }
  }
  reports.erase(wait.member);
  return diagnose_missing_ranks(wait.member, wait.place, reports, seconds, notes);
}

void LocalWorld::judge_all() {
  for (const auto& [rank, wait] : waits_) {
    verdicts_[rank] = judge_one(wait, options_.timeout_s);
  }
  for (const auto& [rank, wait] : waits_) {
    wait.group->fail(Error(verdicts_[rank].code, verdicts_[rank].text(), wait.member));
  }
}

void LocalWorld::progressed() {
  last_progress_ = std::chrono::steady_clock::now();
  polls_ = 0;
}

void LocalWorld::polled(const std::shared_ptr<LocalGroup>& group, int member, const Place& place) {
  const std::chrono::duration<double> idle = std::chrono::steady_clock::now() - last_progress_;
  const auto ranks = static_cast<std::int64_t>(all_->members.size());
  if (++polls_ > idle_polls_per_rank * ranks && idle.count() > options_.idle_s) {
    const Verdict verdict = judge_one({group, member, place}, idle.count());
    group->fail_and_throw(member, Error(verdict.code, verdict.text(), member));
  }
}

// -- a group
// ----------------------------------------------------------------------------------------

LocalGroup::LocalGroup(LocalWorld& in_world, std::vector<int> its_members,
                       std::vector<int> its_nodes)
    : world(in_world),
      members(std::move(its_members)),
      nodes(std::move(its_nodes)),
      calls(members.size(), 0),
      told_(members.size(), false) {}

void LocalGroup::fail_and_throw(int member, const Error& error) {
  fail(error);
  told_[static_cast<std::size_t>(member)] = true;
  throw error;
}

void LocalGroup::leave(int member, const Error& why) {
  if (size() == 1) {
    return;
  }
  const std::int64_t last = calls[static_cast<std::size_t>(member)];
  if (!left_ || last < left_->last_call) {
    left_ = {last, why};
  }
  world.progressed();
}

void LocalGroup::throw_if_failed(int member, Verb verb) {
  if (!error_) {
    return;
  }
  if (!told_[static_cast<std::size_t>(member)]) {
    told_[static_cast<std::size_t>(member)] = true;
    throw Error(*error_);
  }
  throw Error(error_->code(),
              "sluice: rank " + std::to_string(member) + ": " + verb_name(verb) +
                  ": not possible after an earlier failure: " + error_->what(),
              error_->rank());
}

// -- the public functions
// --------------------------------------------------------------------------------

void run_local(int ranks, std::uint64_t seed, const std::function<void(Transport&)>& body,
               const LocalOptions& options) {
  if (ranks < 1 || ranks > max_ranks || options.ranks_per_node < 0) {
    throw Error(Code::invalid_argument, "sluice: run_local: " + std::to_string(ranks) + " ranks, " +
                                            std::to_string(options.ranks_per_node) +
                                            " a node: out of range: 1 .. " +
                                            std::to_string(max_ranks) + " ranks, 0 or more a node");
  }
  LocalWorld world(ranks, seed, options);
  world.run(body);
}

int LocalTransport::running_rank() noexcept { return t_current.rank; }

void LocalTransport::pause() {
  if (t_current.world != nullptr) {
    t_current.world->scheduler().pause(t_current.rank);
  }
}

void LocalTransport::label_thread(int rank) noexcept { t_current = {nullptr, rank}; }

}  // namespace sluice::exec
