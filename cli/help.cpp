#include "help.hpp"

#include <fmt/format.h>

namespace sluice::cli {

namespace {

/// Of the verb that hands all its words to a program, so that CLI11 knows none of them.
constexpr const char* program_usage = " [--mpiio] -- COMMAND [ARGUMENT...]";

class Formatter : public CLI::Formatter {
 public:
  Formatter() {
    column_width(24);
    label("Positionals", "Arguments");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool is_bare = option->get_type_size() == 0 || option->get_positional();
    const std::string type = option->get_type_name();
    // Without what CLI11 checks, which follows a colon; A:B is a range.
    const std::size_t colon = type.starts_with("A:B") ? type.find(':', 2) : type.find(':');
    return is_bare ? "" : " " + type.substr(0, colon);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + name;
    if (app->get_parent() == nullptr) {
      return usage + " VERB ...\n";
    }
    for (const CLI::Option* option :
         app->get_options([](const CLI::Option* o) { return o->nonpositional(); })) {
      if (option->get_name() != "--help") {
        usage += " [options]";
        break;
      }
    }
    for (const CLI::Option* option : app->get_options(
             [](const CLI::Option* o) { return o->nonpositional() && o->get_required(); })) {
      usage += " " + option->get_name() + make_option_opts(option);
    }
    for (const CLI::Option* option :
         app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
      const std::string one =
          option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
      usage += option->get_required() ? " " + one : " [" + one + "]";
    }
    return usage + (app->get_name() == "run" ? program_usage : "") + "\n";
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_formatter() { return std::make_shared<Formatter>(); }

CLI::App* add_verb(CLI::App& app, const char* name, const char* summary,
                   const std::string& explanation, const char* examples) {
  CLI::App* verb = app.add_subcommand(name, summary);
  verb->formatter(make_formatter());
  verb->group("Verbs");
  verb->footer(explanation + examples);
  verb->set_help_flag("-h,--help", "print this help");
  return verb;
}

CLI::Validator number_between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || !(value >= least && value <= most)) {
      return fmt::format("{} is not a number from {} to {}", text, least, most);
    }
    return "";
  };
  return {check, ""};
}

}  // namespace sluice::cli
