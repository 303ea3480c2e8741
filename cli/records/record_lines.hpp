// A file of records whose template describes its values: part by part, line by line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/records/records_impl.hpp"
#include "dialect/lines/template.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// The attribute that holds the template.
inline constexpr const char* template_name = "sluice_template";

/// Records over the command's ranks; `parts`: streams of each of them.
std::unique_ptr<detail::RecordsImpl> open_records(const Context& context, const std::string& path,
                                                  Mode mode, int parts);

class RecordLines {
 public:
  /// Collective. Error format if the file has no template.
  RecordLines(const Context& context, const std::string& path);

  const dialect::lines::Template& layout() const noexcept { return layout_; }
  std::uint64_t groups() const noexcept { return parts_of_.size(); }
  /// The most that a group has: a run that was continued on other ranks has groups of both numbers.
  std::uint64_t parts() const noexcept { return parts_; }
  /// Does the next group have another number of parts, so that they are on other ranks?
  bool moves_after(std::uint64_t group) const {
    return group + 1 < groups() && parts_of_[group + 1] != parts_of_[group];
  }
  /// Numbers of the parts of the fetched group that this rank has, from 0.
  const std::vector<std::uint64_t>& own() const noexcept { return own_; }

  /// Collective. Reads a group into memory.
  void fetch(std::uint64_t group);
  /// Local. All lines of part own()[i] of the group, once. Error format if values are left over, or
  /// differ in type from the template.
  using Visit =
      std::function<void(const dialect::lines::Line&, const std::vector<dialect::lines::Scalar>&)>;
  void read(std::size_t i, const Visit& visit);

 private:
  dialect::lines::Template layout_;
  std::string path_;
  std::vector<std::uint64_t> parts_of_;  ///< each group
  std::uint64_t parts_ = 0;
  std::uint64_t readers_ = 0;  ///< of all ranks
  std::uint64_t first_reader_ = 0;
  std::vector<std::uint64_t> own_;
  std::vector<int> streams_;  ///< of each of own_
  std::unique_ptr<detail::RecordsImpl> records_;
};

}  // namespace sluice::cli
