#include "spins/where.hpp"

#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

constexpr std::array<std::pair<const char*, double AtomValues::*>, 10> value_columns{
    {{"x", &AtomValues::x},
     {"y", &AtomValues::y},
     {"z", &AtomValues::z},
     {"sx", &AtomValues::sx},
     {"sy", &AtomValues::sy},
     {"sz", &AtomValues::sz},
     {"material", &AtomValues::material},
     {"category", &AtomValues::category},
     {"id", &AtomValues::id},
     {"moment", &AtomValues::moment}}};

/// Nesting limit of brackets and signs.
constexpr int max_depth = 200;

}  // namespace

/// By recursive descent; each level handles the operators of one precedence.
class WhereParser {
 public:
  WhereParser(const std::string& text, std::vector<Where::Node>& nodes)
      : text_(text), nodes_(nodes) {}

  void parse() {
    any_of();
    blanks();
    if (at_ != text_.size()) {
      fail("expected an operator");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::invalid_argument, "--where: " + what + " at column " +
                                            std::to_string(at_ + 1) + " of '" + text_ + "'");
  }
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  static bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  bool take(std::string_view symbol) {
    blanks();
    if (!std::string_view(text_).substr(at_).starts_with(symbol)) {
      return false;
    }
    const std::size_t end = at_ + symbol.size();
    if (is_letter(symbol[0]) && end < text_.size() && is_letter(text_[end])) {
      return false;
    }
    at_ = end;
    return true;
  }
  std::size_t add(Where::Node node) {
    nodes_.push_back(node);
    return nodes_.size() - 1;
  }
  std::size_t join(char kind, std::size_t left, std::size_t right) {
    return add({kind, 0, nullptr, left, right});
  }

  std::size_t any_of() {
    if (++depth_ > max_depth) {
      fail("too many brackets");
    }
    std::size_t left = all_of();
    while (take("or") || take("||")) {
      left = join('|', left, all_of());
    }
    --depth_;
    return left;
  }
  std::size_t all_of() {
    std::size_t left = negation();
    while (take("and") || take("&&")) {
      left = join('&', left, negation());
    }
    return left;
  }
  std::size_t negation() {
    blanks();
    const bool is_unequal = std::string_view(text_).substr(at_).starts_with("!=");
    if (!is_unequal && (take("not") || take("!"))) {
      if (++depth_ > max_depth) {
        fail("too many negations");
      }
      const std::size_t inner = negation();
      --depth_;
      return join('!', inner, inner);
    }
    return comparison();
  }
  std::size_t comparison() {
    const std::size_t left = sum();
    constexpr std::array<std::pair<const char*, char>, 6> kinds{
        {{"<=", 'l'}, {">=", 'g'}, {"==", '='}, {"!=", '#'}, {"<", '<'}, {">", '>'}}};
    for (const auto& [symbol, kind] : kinds) {
      if (take(symbol)) {
        return join(kind, left, sum());
      }
    }
    return left;
  }
  std::size_t sum() {
    std::size_t left = product();
    for (;;) {
      if (take("+")) {
        left = join('+', left, product());
      } else if (take("-")) {
        left = join('-', left, product());
      } else {
        return left;
      }
    }
  }
  std::size_t product() {
    std::size_t left = factor();
    for (;;) {
      if (take("*")) {
        left = join('*', left, factor());
      } else if (take("/")) {
        left = join('/', left, factor());
      } else {
        return left;
      }
    }
  }
  std::size_t factor() {
    if (take("-")) {
      if (++depth_ > max_depth) {
        fail("too many signs");
      }
      const std::size_t inner = factor();
      --depth_;
      return join('-', add({'n'}), inner);
    }
    if (take("(")) {
      const std::size_t inner = any_of();
      if (!take(")")) {
        fail("expected ')'");
      }
      return inner;
    }
    blanks();
    double number = 0;
    const char* const begin = text_.data() + at_;
    const auto read = std::from_chars(begin, text_.data() + text_.size(), number);
    if (read.ec == std::errc() && !is_letter(*read.ptr)) {
      at_ += static_cast<std::size_t>(read.ptr - begin);
      return add({'n', number});
    }
    for (const auto& [name, value] : value_columns) {
      if (take(name)) {
        return add({'v', 0, value});
      }
    }
    fail("expected a number or one of x y z sx sy sz material category id moment");
  }

  const std::string& text_;
  std::vector<Where::Node>& nodes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Where::Where(const std::string& text) { WhereParser(text, nodes_).parse(); }

bool Where::holds(const AtomValues& atom) const { return evaluate(nodes_.size() - 1, atom) != 0; }

double Where::evaluate(std::size_t index, const AtomValues& atom) const {
  const Node& node = nodes_[index];
  if (node.kind == 'n') {
    return node.number;
  }
  if (node.kind == 'v') {
    return atom.*node.value;
  }
  const double left = evaluate(node.left, atom);
  if ((node.kind == '&' && left == 0) || (node.kind == '|' && left != 0) || node.kind == '!') {
    return node.kind == '!' ? left == 0 : left != 0;
  }
  const double right = evaluate(node.right, atom);
  switch (node.kind) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '<':
      return left < right;
    case '>':
      return left > right;
    case 'l':
      return left <= right;
    case 'g':
      return left >= right;
    case '=':
      return left == right;
    case '#':
      return left != right;
    default:
      return right != 0;  // and, or: the left operand did not decide
  }
}

}  // namespace sluice::cli
