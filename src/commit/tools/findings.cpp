#include "commit/tools/findings.hpp"

#include <algorithm>

namespace sluice::commit {

void Finding::write_to(model::ByteWriter& out) const {
  out.put(order);
  out.put(variable);
  out.put(step);
  out.put(place);
  out.put(what);
  out.put(rank);
}

Finding Finding::read_from(model::ByteReader& in) {
  Finding finding;
  finding.order = in.get<std::uint64_t>();
  finding.variable = in.get_string();
  finding.step = in.get<std::uint64_t>();
  finding.place = in.get_string();
  finding.what = in.get_string();
  finding.rank = in.get<int>();
  return finding;
}

void Findings::add(Finding finding) {
  ++count_;
  if (list_.size() < most_findings) {
    list_.push_back(std::move(finding));
  }
}

void Findings::merge(const Findings& other) {
  count_ += other.count_;
  list_.insert(list_.end(), other.list_.begin(), other.list_.end());
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Finding& a, const Finding& b) { return a.order < b.order; });
  list_.resize(std::min(list_.size(), most_findings));
}

void Findings::write_to(model::ByteWriter& out) const {
  out.put(count_);
  out.put(list_.size());
  for (const Finding& finding : list_) {
    finding.write_to(out);
  }
}

Findings Findings::read_from(model::ByteReader& in) {
  Findings findings;
  findings.count_ = in.get<std::uint64_t>();
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    findings.list_.push_back(Finding::read_from(in));
  }
  return findings;
}

}  // namespace sluice::commit
