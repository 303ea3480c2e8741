#include "records/convert_lines.hpp"

#include <algorithm>
#include <numeric>

#include "commit/tools/new_file.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/read_text.hpp"
#include "layout/records/format.hpp"
#include "records/new_files.hpp"
#include "records/record_lines.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

using dialect::lines::Line;
using dialect::lines::Scalar;
using dialect::lines::Template;

/// "traj.template" of "%d.traj"; "lines.template" of "%d".
std::string template_file(const Template& layout) {
  const std::size_t at = layout.files.find("%d");
  const std::string rest = layout.files.substr(0, at) + layout.files.substr(at + 2);
  const std::size_t begin = rest.find_first_not_of('.');
  return (begin == std::string::npos ? "lines" : rest.substr(begin)) + ".template";
}

/// The texts of all parts, which any rank may continue.
class NewTexts {
 public:
  /// Collective. Creates them.
  NewTexts(const Context& context, NewFiles& files, const Template& layout, std::uint64_t parts)
      : context_(context), files_(files), layout_(layout), written_(parts, 0) {
    exec::together(context.transport, [&] {
      if (context.is_root()) {  // the first one: with the template there are the texts
        create(template_file(layout))->write(0, std::as_bytes(std::span(layout.text)));
      }
      const auto ranks = static_cast<std::uint64_t>(context.transport.size());
      const auto rank = static_cast<std::uint64_t>(context.transport.rank());
      for (std::uint64_t p = rank * parts / ranks; p < (rank + 1) * parts / ranks; ++p) {
        create(layout.name_of(p));
      }
    });
  }

  /// Local.
  void append(std::uint64_t part, const std::string& text) {
    std::int64_t& written = written_[part];
    context_.storage.open(files_.building(layout_.name_of(part)), storage::Access::read_write)
        ->write(static_cast<std::uint64_t>(written), std::as_bytes(std::span(text)));
    written += static_cast<std::int64_t>(text.size());
  }

  /// Collective. What the ranks have written is known to all of them.
  void share() { context_.transport.allreduce(written_, exec::Op::max); }

  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(
        std::accumulate(written_.begin(), written_.end(), std::int64_t{0}));
  }

 private:
  std::unique_ptr<storage::File> create(const std::string& name) {
    return context_.storage.open(files_.begin(name), storage::Access::create);
  }

  const Context& context_;
  NewFiles& files_;
  const Template& layout_;
  std::vector<std::int64_t> written_;  ///< bytes of each part; of those of other ranks, once shared
};

}  // namespace

commit::Converted convert_to_lines(const Context& context, const std::string& from,
                                   const std::string& folder) {
  RecordLines lines(context, from);
  NewFiles files(context, folder);
  NewTexts texts(context, files, lines.layout(), lines.parts());
  for (std::uint64_t g = 0; g < lines.groups(); ++g) {
    lines.fetch(g);
    exec::together(context.transport, [&] {
      for (std::size_t i = 0; i < lines.own().size(); ++i) {
        std::string text;
        lines.read(i, [&](const Line& line, const std::vector<Scalar>& values) {
          append_line(line, values, text);
        });
        if (!text.empty()) {
          texts.append(lines.own()[i], text);
        }
      }
    });
    if (lines.moves_after(g)) {
      texts.share();
    }
  }
  texts.share();
  files.finish();
  return {lines.parts(), lines.groups(), texts.bytes()};
}

namespace {

/// The lines of one text, a piece at a time: the file is open only during a read, because there may
/// be more files than a process may have open.
class TextLines {
 public:
  TextLines(const Context& context, std::string path) : context_(context), path_(std::move(path)) {
    size_ = context_.storage.open(path_, storage::Access::read)->size();
  }
  bool at_end() const noexcept { return at_ == text_.size() && offset_ == size_; }

  /// The next line, of `width` characters, without its end; valid until the next call.
  std::string_view next(std::size_t width) {
    std::size_t end = text_.find('\n', at_);
    while (end == std::string::npos && offset_ != size_) {
      if (text_.size() - at_ > width + 1) {  // with "\r"
        throw Error(Code::format, path_ + ": a line is longer than the " + std::to_string(width) +
                                      " characters of its template, line " +
                                      std::to_string(number_ + 1));
      }
      fetch();
      end = text_.find('\n', at_);
    }
    if (end == std::string::npos && text_.size() - at_ == width) {
      end = text_.size();  // the end of the last line may be missing
    }
    if (end == std::string::npos) {
      throw Error(Code::truncated,
                  path_ + ": ends in the middle of the lines of its template, " + where());
    }
    const std::string_view line(text_.data() + at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    ++number_;
    return line;
  }
  std::string where() const { return "line " + std::to_string(number_); }
  const std::string& path() const noexcept { return path_; }
  /// Frees what was read; the memory is then that of a line.
  void rest() {
    text_.erase(0, at_);
    text_.shrink_to_fit();
    at_ = 0;
  }

 private:
  void fetch() {
    constexpr std::uint64_t piece_bytes = 256 << 10;
    text_.erase(0, at_);
    at_ = 0;
    const std::size_t had = text_.size();
    const std::uint64_t bytes = std::min(piece_bytes, size_ - offset_);
    text_.resize(had + bytes);
    const auto file = context_.storage.open(path_, storage::Access::read);
    if (file->read(offset_, std::as_writable_bytes(std::span(text_).subspan(had))) != bytes) {
      throw Error(Code::truncated, path_ + ": became shorter while it was read");
    }
    offset_ += bytes;
  }

  const Context& context_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t offset_ = 0;
  std::string text_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
};

void write_scalar(detail::RecordsImpl& records, int part, const Type& type, const Scalar& value) {
  const auto code = static_cast<layout::records::ScalarCode>(type.kind);
  if (type.kind == Kind::i32) {
    const auto narrow = static_cast<std::int32_t>(value.integer);
    records.write(part, code, &narrow, 1);
  } else if (type.kind == Kind::i64) {
    records.write(part, code, &value.integer, 1);
  } else if (type.kind == Kind::f32) {
    const auto narrow = static_cast<float>(value.real);
    records.write(part, code, &narrow, 1);
  } else {
    records.write(part, code, &value.real, 1);
  }
}

/// One pass of a text through the template, into a part.
void take_group(const Template& layout, TextLines& text, detail::RecordsImpl& records, int part) {
  std::vector<Scalar> values;
  dialect::lines::walk(layout, [&](const Line& line) {
    const std::string_view words = text.next(line.width);
    try {
      parse_line(line, words, values);
    } catch (const Error& error) {
      throw Error(error.code(), text.path() + ", " + text.where() + ": " + error.what());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      write_scalar(records, part, line.types[i], values[i]);
    }
    return values.empty() ? 0 : values.back().integer;
  });
}

/// The number of files in a row from 1 on. Collective.
std::uint64_t count_texts(const Context& context, const std::string& folder,
                          const Template& layout) {
  const auto files = exec::on_root(context.transport, [&](model::ByteWriter& out) {
                       std::uint64_t found = 0;
                       while (context.storage.exists(folder + layout.name_of(found))) {
                         ++found;
                       }
                       out.put(found);
                     }).get<std::uint64_t>();
  const auto ranks = static_cast<std::uint64_t>(context.transport.size());
  if (files == 0 || files % ranks != 0) {
    throw Error(Code::invalid_argument,
                folder + layout.name_of(0) + " and so on: " + std::to_string(files) +
                    " files: the number of processes must divide it, and is " +
                    std::to_string(ranks));
  }
  return files;
}

}  // namespace

commit::Converted convert_from_lines(const Context& context, const std::string& from,
                                     const std::string& to) {
  const Template layout =
      dialect::lines::parse_template(exec::read_on_root(context.transport, context.storage, from));
  const std::string folder = from.substr(0, from.rfind('/') + 1);
  const std::uint64_t files = count_texts(context, folder, layout);
  const std::uint64_t own = files / static_cast<std::uint64_t>(context.transport.size());
  const std::uint64_t first = own * static_cast<std::uint64_t>(context.transport.rank());
  std::vector<TextLines> texts;
  exec::together(context.transport, [&] {
    for (std::uint64_t i = 0; i < own; ++i) {
      texts.emplace_back(context, folder + layout.name_of(first + i));
    }
  });
  Options options;
  options.format = layout::records::format_row.option;
  commit::NewFile target(context.transport, context.storage, to, options);
  const auto records =
      open_records(context, target.building(), Mode::create, static_cast<int>(own));
  records->set_text(template_name, layout.text);
  std::uint64_t groups = 0;
  for (;; ++groups) {
    std::int64_t left[] = {0, 0};
    for (const TextLines& text : texts) {
      left[text.at_end() ? 1 : 0] = 1;
    }
    context.transport.allreduce(left, exec::Op::max);
    if (left[0] == 0) {
      break;
    }
    if (left[1] != 0) {
      throw Error(Code::format, folder + layout.files +
                                    ": the files have different numbers of "
                                    "groups");
    }
    exec::together(context.transport, [&] {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        take_group(layout, texts[i], *records, static_cast<int>(i));
        texts[i].rest();
      }
    });
    records->commit();
  }
  records->close();
  target.finish();
  return {files, groups, context.storage.open(to, storage::Access::read)->size()};
}

}  // namespace sluice::cli
