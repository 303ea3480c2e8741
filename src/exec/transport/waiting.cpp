#include "exec/transport/waiting.hpp"

#include <algorithm>
#include <set>

#include "exec/transport/tags.hpp"
#include "model/size_text.hpp"

namespace sluice::exec {

namespace {

constexpr std::size_t max_notes = 3;

std::string place_text(const Place& place) {
  std::string text = verb_name(place.verb);
  if (!is_collective(place.verb)) {
    const char* meaning = meaning_of_tag(place.tag);
    text += " (tag " + std::to_string(place.tag) +
            (meaning != nullptr ? std::string(": ") + meaning : "") + ")";
  }
  if (place.part != 0) {
    text += " of some ranks";
  }
  if (!place.peers.empty()) {
    text += " for rank(s) " + list_ranks(place.peers);
  }
  return text;
}

// True if the report proves that its rank has entered the collective in which `place` waits.
bool has_come(const Place& place, const Place& report) {
  if (!is_collective(place.verb)) {
    return false;
  }
  return report.part == place.part ? report.call >= place.call
                                   : place.part == 0 && report.outer_calls >= place.call;
}

// True if the report is of a wait in a collective of the same transport.
bool is_in_call(const Place& place, const Place& report) {
  return is_collective(report.verb) && report.part == place.part;
}

// The first pair of ranks that are in different collectives under the same number.
bool find_divergence(int rank, const Place& place, const std::vector<int>& ranks,
                     const std::map<int, Place>& reports, Verdict* verdict) {
  if (!is_collective(place.verb)) {
    return false;
  }
  for (int other : ranks) {
    const auto report = reports.find(other);
    if (report == reports.end() || !is_in_call(place, report->second) ||
        report->second.call != place.call || report->second.verb == place.verb) {
      continue;
    }
    verdict->code = Code::divergent;
    verdict->missing = {other};
    verdict->facts = "rank " + std::to_string(rank) + " is in " + verb_name(place.verb) +
                     " while rank " + std::to_string(other) + " is in " +
                     verb_name(report->second.verb) + " (both in collective number " +
                     std::to_string(place.call) + ")";
    verdict->remedy = "every rank must call the same collectives in the same order";
    return true;
  }
  return false;
}

std::string notes_text(const std::vector<int>& missing, const std::map<int, Place>& reports,
                       const std::map<int, std::string>& notes) {
  std::string text;
  std::size_t said = 0;
  for (int other : missing) {
    const auto note = notes.find(other);
    const auto report = reports.find(other);
    if (said == max_notes || (note == notes.end() && report == reports.end())) {
      continue;
    }
    text += said++ == 0 ? " (" : "; ";
    text += "rank " + std::to_string(other) + " ";
    text += report != reports.end() ? "waits in " + place_text(report->second) : note->second;
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

const char* verb_name(Verb verb) noexcept {
  switch (verb) {
    case Verb::open:
      return "open";
    case Verb::barrier:
      return "barrier";
    case Verb::allreduce:
      return "allreduce";
    case Verb::reduce:
      return "reduce";
    case Verb::prefix_sum:
      return "prefix_sum";
    case Verb::broadcast:
      return "broadcast";
    case Verb::gather:
      return "gather";
    case Verb::allgather:
      return "allgather";
    case Verb::exchange:
      return "exchange";
    case Verb::split:
      return "split";
    case Verb::send:
      return "send";
    case Verb::receive:
      return "receive";
  }
  return "unknown";
}

bool is_collective(Verb verb) noexcept { return verb != Verb::send && verb != Verb::receive; }

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text;
  const std::size_t named = std::min<std::size_t>(ranks.size(), max_named);
  for (std::size_t i = 0; i < named; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > named) {
    text += " and " + std::to_string(ranks.size() - named) + " more";
  }
  return text;
}

std::vector<int> reachable(int rank, const Place& place, const std::map<int, Place>& reports) {
  std::set<int> found;
  std::vector<int> open(place.peers);
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (!found.insert(next).second || next == rank) {
      continue;
    }
    const auto report = reports.find(next);
    // A rank that is already past the call in question waits for something else.
    if (report != reports.end() &&
        !(has_come(place, report->second) &&
          (report->second.call > place.call || !is_in_call(place, report->second)))) {
      open.insert(open.end(), report->second.peers.begin(), report->second.peers.end());
    }
  }
  return {found.begin(), found.end()};
}

Verdict diagnose_missing_ranks(int rank, const Place& place, const std::map<int, Place>& reports,
                               double seconds, const std::map<int, std::string>& notes) {
  Verdict verdict;
  const std::vector<int> ranks = reachable(rank, place, reports);
  if (find_divergence(rank, place, ranks, reports, &verdict)) {
    return verdict;
  }
  // In a collective every rank that waits elsewhere has not arrived; a send or receive waits for
  // its peer (possibly itself), and for any silent rank behind that peer.
  const std::set<int> direct(place.peers.begin(), place.peers.end());
  for (int other : ranks) {
    const auto report = reports.find(other);
    const bool silent = other != rank && report == reports.end();
    const bool elsewhere = other != rank && report != reports.end() && is_collective(place.verb) &&
                           !has_come(place, report->second);
    const bool peer = !is_collective(place.verb) && direct.count(other) != 0;
    if (silent || elsewhere || peer) {
      verdict.missing.push_back(other);
    }
  }
  Place bare = place;
  bare.peers.clear();
  verdict.facts = "rank " + std::to_string(rank) + " waited " + model::seconds_text(seconds) +
                  " in " + place_text(bare);
  if (verdict.missing.empty()) {
    verdict.facts += ": every rank made the call, but the data did not arrive in time";
    verdict.remedy = "raise timeout_s, or check the network";
  } else {
    verdict.facts +=
        " for rank(s) " + list_ranks(verdict.missing) + notes_text(verdict.missing, reports, notes);
    verdict.remedy = "find out what stopped them, or raise timeout_s if they are only slow";
  }
  return verdict;
}

}  // namespace sluice::exec
