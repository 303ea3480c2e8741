#include "layout/hdf5/known_contents.hpp"

#include <algorithm>
#include <utility>

namespace sluice::layout::hdf5 {

namespace {

/// Kinds of file that a program writes in turn.
constexpr std::size_t most_known = 8;
/// Of variables and attributes in one file: what is kept has a bound.
constexpr std::size_t most_things = 1 << 16;

/// What decides in which form a value is written.
struct Form {
  std::size_t kind = 0;
  std::size_t count = 0;
  bool has_empty_text = false;
  bool has_nul = false;
  friend bool operator==(const Form&, const Form&) = default;
};

Form form_of(const model::AttributeValue& value) {
  Form form{value.index(), 1};
  const auto note = [&form](const std::string& text) {
    form.has_empty_text = form.has_empty_text || text.empty();
    form.has_nul = form.has_nul || text.find('\0') != std::string::npos;
  };
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string>) {
          note(held);
        } else if constexpr (!std::is_arithmetic_v<Held>) {
          form.count = held.size();
          if constexpr (std::is_same_v<Held, std::vector<std::string>>) {
            std::for_each(held.begin(), held.end(), note);
          }
        }
      },
      value);
  return form;
}

bool is_alike(const model::Attribute& a, const model::Attribute& b) {
  return a.owner == b.owner && a.name == b.name && form_of(a.value) == form_of(b.value);
}

bool is_alike(const FirstCommit& a, const FirstCommit& b) {
  return a.profile == b.profile && a.has_time == b.has_time && a.definitions == b.definitions &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                    b.attributes.end(),
                    [](const auto& one, const auto& other) { return is_alike(one, other); });
}

Contents with_values(Contents contents, const FirstCommit& commit) {
  for (const model::Attribute& attribute : commit.attributes) {
    record(contents, attribute);
  }
  return contents;
}

}  // namespace

KnownContents& KnownContents::of_process() {
  static auto* known = new KnownContents;  // needed until the program ends
  return *known;
}

std::optional<Contents> KnownContents::find(const FirstCommit& commit) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return is_alike(known.commit, commit);
  });
  if (found == known_.end()) {
    return std::nullopt;
  }
  std::rotate(known_.begin(), found, found + 1);
  return with_values(known_.front().contents, commit);
}

void KnownContents::keep(FirstCommit commit, const Contents& contents) {
  const bool has_nul =
      std::any_of(commit.attributes.begin(), commit.attributes.end(),
                  [](const auto& attribute) { return form_of(attribute.value).has_nul; });
  if (has_nul || contents.size() > most_things || with_values(contents, commit) != contents) {
    return;
  }
  const std::lock_guard lock(mutex_);
  known_.push_front({std::move(commit), contents});
  if (known_.size() > most_known) {
    known_.pop_back();
  }
}

}  // namespace sluice::layout::hdf5
