#include "records/record_lines.hpp"

#include <algorithm>
#include <limits>

#include "commit/read/input.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

using dialect::lines::Line;
using dialect::lines::Scalar;

const std::string* find_template(const commit::Input& input) {
  for (const model::Attribute& attribute : input.attributes()) {
    if (attribute.owner.empty() && attribute.name == template_name) {
      return std::get_if<std::string>(&attribute.value);
    }
  }
  return nullptr;
}

/// Reads one scalar of the line's type.
Scalar read_scalar(detail::RecordsImpl& records, int stream, const Type& type) {
  const auto code = static_cast<layout::records::ScalarCode>(type.kind);
  Scalar value;
  if (type.kind == Kind::i32) {
    std::int32_t narrow = 0;
    records.read(stream, code, &narrow, 1);
    value.integer = narrow;
  } else if (type.kind == Kind::i64) {
    records.read(stream, code, &value.integer, 1);
  } else if (type.kind == Kind::f32) {
    float narrow = 0;
    records.read(stream, code, &narrow, 1);
    value.real = static_cast<double>(narrow);
  } else {
    records.read(stream, code, &value.real, 1);
  }
  return value;
}

}  // namespace

std::unique_ptr<detail::RecordsImpl> open_records(const Context& context, const std::string& path,
                                                  Mode mode, int parts) {
  const auto opener = [&](const Options& options) {
    // The storage is the command's, and outlives all files.
    return detail::open_on(
        context.transport,
        std::shared_ptr<storage::Storage>(std::shared_ptr<void>(), &context.storage), path, mode,
        options);
  };
  return std::make_unique<detail::RecordsImpl>(opener, mode, parts, Options{});
}

RecordLines::RecordLines(const Context& context, const std::string& path) : path_(path) {
  {
    const commit::Input input(context.transport, context.storage, path, {});
    const std::string* text = find_template(input);
    if (text == nullptr) {
      throw Error(Code::format,
                  path + ": has no attribute " + template_name + ", which describes its records");
    }
    layout_ = dialect::lines::parse_template(*text);
    const std::uint32_t table = input.find("parts");
    for (std::uint64_t g = 0; g < input.steps(); ++g) {
      parts_of_.push_back(input.shape(table, g)[0]);
      parts_ = std::max(parts_, parts_of_.back());
    }
  }
  // As many readers as a group has parts at most, or a few more, without parts: no reader has two.
  const auto ranks = static_cast<std::uint64_t>(context.transport.size());
  const std::uint64_t streams = std::max<std::uint64_t>(1, (parts_ + ranks - 1) / ranks);
  readers_ = streams * ranks;
  first_reader_ = streams * static_cast<std::uint64_t>(context.transport.rank());
  constexpr std::uint64_t too_many = std::numeric_limits<int>::max();  // which it refuses
  records_ = open_records(context, path, Mode::read, static_cast<int>(std::min(streams, too_many)));
}

void RecordLines::fetch(std::uint64_t group) {
  own_.clear();
  streams_.clear();
  const std::uint64_t parts = parts_of_[group];
  for (int i = 0; i < records_->parts(); ++i) {
    const std::uint64_t reader = first_reader_ + static_cast<std::uint64_t>(i);
    const std::uint64_t part = reader * parts / readers_;
    if (part != (reader + 1) * parts / readers_) {
      own_.push_back(part);
      streams_.push_back(i);
    }
  }
  records_->fetch(group);
}

void RecordLines::read(std::size_t i, const Visit& visit) {
  const int stream = streams_[i];
  std::vector<Scalar> values;
  dialect::lines::walk(layout_, [&](const Line& line) {
    values.clear();
    for (const Type& type : line.types) {
      values.push_back(read_scalar(*records_, stream, type));
    }
    visit(line, values);
    return values.empty() ? 0 : values.back().integer;
  });
  if (!records_->at_end(stream)) {
    throw Error(Code::format, path_ + ": part " + std::to_string(own_[i]) +
                                  " has more values than its template describes");
  }
}

}  // namespace sluice::cli
