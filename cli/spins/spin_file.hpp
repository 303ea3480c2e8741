// A file of Sluice that the ranks fill with rows of atoms.
//
// Invariant: the memory that is put belongs to the caller and must not change until the step ends
// or the file is closed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "commit/output/output.hpp"
#include "commit/tools/convert.hpp"
#include "commit/tools/new_file.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// This rank's rows of a kind of atoms.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A file of Sluice's that a rank fills with its rows.
class SpinFile {
 public:
  /// Collective. Error exists.
  SpinFile(const Context& context, const std::string& path, const Options& options)
      : context_(context), output_(context.transport, context.storage, path, options) {}

  std::uint32_t define(const char* name, const Type& type, const model::Dims& shape,
                       std::vector<std::string> dimensions, const char* unit, const char* about,
                       bool is_stepped) {
    model::Definition d;
    d.name = name;
    d.type = type;
    d.shape = shape;
    d.stepped = is_stepped;
    d.dimensions = std::move(dimensions);
    const std::uint32_t variable = output_->define(d);
    if (*about != '\0') {
      output_->set_attribute({name, "long_name", std::string(about)});
    }
    if (*unit != '\0') {
      output_->set_attribute({name, "units", std::string(unit)});
    }
    done_.variables += 1;
    if (!is_stepped) {
      done_.bytes += d.bytes_per_step();
    }
    return variable;
  }
  template <class T>
  void put(std::uint32_t variable, const Share& rows, std::uint64_t columns, const T* data) {
    if (rows.count == 0) {
      return;
    }
    model::Dims start{rows.first};
    model::Dims count{rows.count};
    if (columns > 1) {
      start.push_back(0);
      count.push_back(columns);
    }
    output_->put({variable,
                  {start, count},
                  {reinterpret_cast<const std::byte*>(data), type_of<T>(), count,
                   model::Dims::filled(count.rank(), 0)},
                  false});
  }
  void attribute(const char* name, const model::AttributeValue& value, const char* owner = "") {
    output_->set_attribute({owner, name, value});
  }
  commit::Output& output() { return *output_; }
  void close() { output_.close(); }
  commit::Converted& done() { return done_; }
  bool is_root() const { return context_.is_root(); }

 private:
  const Context& context_;
  commit::NewOutput output_;
  commit::Converted done_;
};

}  // namespace sluice::cli
