#include "dialect/lines/template.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "model/type_names.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::lines {

namespace {

/// More than any line has; bounds what a template may claim.
constexpr std::uint32_t most_values = 10000;
constexpr std::uint32_t most_width = 1000;
constexpr std::uint32_t most_line_width = 1 << 20;
constexpr std::uint32_t most_depth = 8;

[[noreturn]] void refuse(const std::string& line, const std::string& why) {
  throw Error(Code::format, "template: " + why + ": '" + line + "'");
}

bool is_of_lines(const Type& type) {
  return type.kind == Kind::i32 || type.kind == Kind::i64 || type.kind == Kind::f32 ||
         type.kind == Kind::f64;
}

/// Reads one line of a template from left to right.
class LineParser {
 public:
  explicit LineParser(const std::string& text) : text_(text) {}

  Line parse() {
    while (take('*')) {
      ++line_.depth;
    }
    if (line_.depth > most_depth) {
      refuse(text_, "too many stars");
    }
    parse_format();
    while (at_ != text_.size()) {
      parse_field();
    }
    check();
    return std::move(line_);
  }

 private:
  bool take(char wanted) {
    const bool is_there = at_ < text_.size() && text_[at_] == wanted;
    at_ += is_there ? 1 : 0;
    return is_there;
  }
  void need(char wanted) {
    if (!take(wanted)) {
      std::string why = "no '";
      why += wanted;
      refuse(text_, why + "' at column " + std::to_string(at_ + 1));
    }
  }
  bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  std::uint32_t number(std::uint32_t most) {
    std::uint32_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto result = std::from_chars(text_.data() + at_, end, value);
    if (result.ec != std::errc{} || value > most) {
      refuse(text_,
             "no number up to " + std::to_string(most) + " at column " + std::to_string(at_ + 1));
    }
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    return value;
  }

  void parse_format() {
    need('(');
    do {
      parse_edit();
    } while (take(','));
    need(')');
  }

  void parse_edit() {
    Edit edit;
    if (take('\'')) {
      edit.kind = '\'';
      while (at_ < text_.size() && text_[at_] != '\'') {
        edit.literal += text_[at_++];
      }
      need('\'');
      edit.width = static_cast<std::uint32_t>(edit.literal.size());
      add(edit, 1);
      return;
    }
    const std::uint32_t repeat = is_digit() ? number(most_values) : 1;
    if (take('x')) {
      edit.width = repeat;
      add(edit, 1);
      return;
    }
    if (take('i')) {
      edit.kind = 'i';
      edit.width = number(most_width);
    } else {
      edit.kind = take('f') ? 'f' : 'e';
      if (edit.kind == 'e') {
        need('e');
        need('s');
      }
      edit.width = number(most_width);
      need('.');
      edit.digits = number(most_width);
      if (edit.kind == 'e' && take('e')) {
        edit.exponent = number(4);
      }
    }
    if (edit.width == 0) {
      refuse(text_, "a width of 0");
    }
    add(edit, repeat);
  }

  void add(const Edit& edit, std::uint32_t repeat) {
    if (line_.edits.size() + repeat > most_values || repeat == 0) {
      refuse(text_, "too many values, or none");
    }
    line_.edits.insert(line_.edits.end(), repeat, edit);
    line_.width += repeat * edit.width;
    if (line_.width > most_line_width) {
      refuse(text_, "a line of more than " + std::to_string(most_line_width) + " characters");
    }
  }

  void parse_field() {
    need(' ');
    Field field;
    while (at_ < text_.size() && text_[at_] != ':' && text_[at_] != ' ') {
      field.name += text_[at_++];
    }
    need(':');
    std::string type;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != ' ') {
      type += text_[at_++];
    }
    const auto known = model::type_named(type);
    if (!known || !is_of_lines(*known)) {
      refuse(text_, "type '" + type + "': use int32, int64, float32 or float64");
    }
    field.type = *known;
    if (take('(')) {
      field.count = number(most_values);
      need(')');
    }
    if (field.count == 0) {
      refuse(text_, "a count of 0 of '" + field.name + "'");
    }
    if (line_.types.size() + field.count > most_values) {
      refuse(text_, "too many values");
    }
    line_.types.insert(line_.types.end(), field.count, field.type);
    line_.fields.push_back(std::move(field));
  }

  void check() const {
    std::size_t i = 0;
    for (const Edit& edit : line_.edits) {
      if (edit.kind == 'x' || edit.kind == '\'') {
        continue;
      }
      const bool is_integer = i < line_.types.size() && (line_.types[i].kind == Kind::i32 ||
                                                         line_.types[i].kind == Kind::i64);
      if (i == line_.types.size() || is_integer != (edit.kind == 'i')) {
        refuse(text_, "value " + std::to_string(i + 1) + " and its format do not fit");
      }
      ++i;
    }
    if (i != line_.types.size()) {
      refuse(text_, "fewer formats than values");
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
  Line line_;
};

}  // namespace

std::size_t Line::find(std::string_view name) const noexcept {
  std::size_t at = 0;
  for (const Field& field : fields) {
    if (field.name == name) {
      return at;
    }
    at += field.count;
  }
  return npos;
}

std::string Template::name_of(std::uint64_t number) const {
  const std::size_t at = files.find("%d");
  return files.substr(0, at) + std::to_string(number + 1) + files.substr(at + 2);
}

const Line* Template::line_with(std::string_view field) const noexcept {
  for (const Line& line : lines) {
    if (line.find(field) != Line::npos) {
      return &line;
    }
  }
  return nullptr;
}

void require_particle_fields(const Template& all) {
  struct Known {
    std::string_view name;
    bool is_real;
    std::uint32_t count;
  };
  constexpr std::array<Known, 6> known{{{"position_nm", true, 3},
                                        {"box_nm", true, 3},
                                        {"time_ps", true, 1},
                                        {"id", false, 1},
                                        {"type", false, 1},
                                        {"step", false, 1}}};
  for (const Line& line : all.lines) {
    for (const Field& field : line.fields) {
      const auto* const wanted = std::find_if(
          known.begin(), known.end(), [&](const Known& one) { return one.name == field.name; });
      if (wanted == known.end()) {
        continue;
      }
      const bool is_real = field.type.kind == Kind::f32 || field.type.kind == Kind::f64;
      if (is_real != wanted->is_real || field.count != wanted->count) {
        throw Error(Code::format,
                    "template: " + field.name + " is " + type_name(field.type) + "(" +
                        std::to_string(field.count) + "), and should be " +
                        std::to_string(wanted->count) +
                        (wanted->is_real ? " of float32 or float64" : " of int32 or int64") +
                        ": give it another name");
      }
    }
  }
}

namespace {

/// Every pass through the lines, and through those that belong to one, must consume a value:
/// otherwise any count of such lines would be accepted.
void check_takes_values(const Template& all) {
  const auto takes_one = [&](std::size_t first, std::uint32_t depth) {
    for (std::size_t i = first; i < all.lines.size() && all.lines[i].depth >= depth; ++i) {
      if (all.lines[i].depth == depth && !all.lines[i].types.empty()) {
        return true;
      }
    }
    return false;
  };
  if (all.lines.empty() || !takes_one(0, 0)) {
    refuse("", "no lines with values");
  }
  for (std::size_t i = 1; i < all.lines.size(); ++i) {
    const std::uint32_t depth = all.lines[i].depth;
    if (depth > all.lines[i - 1].depth && !takes_one(i, depth)) {
      refuse(all.files, "lines with stars that have no values");
    }
  }
}

}  // namespace

Template parse_template(const std::string& text) {
  Template all;
  all.text = text;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    if (all.files.empty()) {
      const bool is_name = line.starts_with("files ") && line.find("%d") != std::string::npos &&
                           line.find('/') == std::string::npos;
      if (!is_name) {
        refuse(line, "the first line is not 'files NAME' with %d in NAME and no folder");
      }
      all.files = line.substr(6);
      continue;
    }
    all.lines.push_back(LineParser(line).parse());
    const std::uint32_t above = all.lines.size() == 1 ? 0 : (all.lines.end() - 2)->depth + 1;
    if (all.lines.back().depth > above) {
      refuse(line, "more than one star more than the line above");
    }
    if (all.lines.size() > 1 && all.lines.back().depth == above) {
      const auto& types = (all.lines.end() - 2)->types;
      if (types.empty() || types.back().kind == Kind::f32 || types.back().kind == Kind::f64) {
        refuse(line, "the line above does not end with an integer, their number");
      }
    }
  }
  check_takes_values(all);
  return all;
}

namespace {

std::size_t walk_from(const Template& all, std::size_t line, const Visit& visit);

/// The first line after those that belong to `line`.
std::size_t behind(const Template& all, std::size_t line) {
  std::size_t end = line + 1;
  while (end < all.lines.size() && all.lines[end].depth > all.lines[line].depth) {
    ++end;
  }
  return end;
}

std::size_t walk_from(const Template& all, std::size_t line, const Visit& visit) {
  const std::int64_t count = visit(all.lines[line]);
  const std::size_t end = behind(all, line);
  if (end == line + 1) {
    return end;
  }
  if (count < 0) {
    throw Error(Code::format, "a number of lines is negative: " + std::to_string(count));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t child = line + 1; child < end;) {
      child = walk_from(all, child, visit);
    }
  }
  return end;
}

}  // namespace

void walk(const Template& all, const Visit& visit) {
  for (std::size_t line = 0; line < all.lines.size();) {
    line = walk_from(all, line, visit);
  }
}

}  // namespace sluice::dialect::lines
