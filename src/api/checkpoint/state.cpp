#include "api/checkpoint/state.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/checkpoint/names.hpp"
#include "api/file/selected.hpp"
#include "model/name.hpp"

namespace sluice::detail {

namespace {

constexpr std::uint64_t most_text_bytes = 8388607;

std::string shape_text(const Shape& shape) {
  std::string text = "{";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  }
  return text + "}";
}

std::string what_text(const Type& type, const Shape& shape) {
  return type_name(type) + " " + shape_text(shape);
}

bool is_of_rank(const Registered& thing) { return std::holds_alternative<OfRank>(thing.memory); }

/// Whether `variable` holds `thing`. Bytes of another number of ranks are a variable of their own.
bool is_in(const Registered& thing, const std::string& variable) {
  return is_of_rank(thing) ? variable.starts_with(bytes_variables(thing.name))
                           : variable == thing.name;
}

/// As far as a format asks; for bytes, that of one rank.
model::Definition definition_of(const Registered& thing) {
  model::Definition definition;
  definition.name = is_of_rank(thing) ? bytes_variable(thing.name, 1) : thing.name;
  definition.type = thing.type;
  definition.shape = dims_of(thing.shape);
  definition.stepped = true;
  return definition;
}

/// The text of `memory`, as long as the variable's.
std::vector<char> padded_of(const Registered& thing, const TextMemory& memory) {
  const std::size_t room = thing.type.bytes;
  std::string text;
  if (memory.text != nullptr) {
    text = *memory.text;
  } else {
    text.assign(memory.chars, ::strnlen(memory.chars, room));
  }
  if (text.size() > room) {
    throw Error(Code::overflow, "the text " + model::quoted(thing.name) + " has " +
                                    std::to_string(text.size()) + " bytes, but room for " +
                                    std::to_string(room) + ": register it with more");
  }
  text.resize(room, '\0');
  return {text.begin(), text.end()};
}

void take_padded(const Registered& thing, OfText& text) {
  if (text.memory.text != nullptr) {
    const std::string_view padded(text.padded.data(), text.padded.size());
    text.memory.text->assign(padded.substr(0, padded.find_last_not_of('\0') + 1));
  } else {
    std::memcpy(text.memory.chars, text.padded.data(), thing.type.bytes);
  }
}

/// Error not_found where no number of ranks has saved these bytes.
void check_bytes(const File& in, const std::string& name) {
  const std::string bytes = bytes_variables(name);
  const std::vector<VariableInfo> all = in.variables();
  if (std::none_of(all.begin(), all.end(),
                   [&](const VariableInfo& info) { return info.name.starts_with(bytes); })) {
    throw Error(Code::not_found, "checkpoint: no bytes " + model::quoted(name) + " in the file");
  }
}

/// Shorter ones would be part of what was saved, without a word.
Variable find_bytes(const File& in, const Registered& thing, int ranks) {
  const Variable variable = in.find(bytes_variable(thing.name, ranks));
  const VariableInfo info = in.info(variable);
  if (info.type != thing.type) {
    throw Error(Code::type_mismatch, "checkpoint: " + model::quoted(thing.name) +
                                         " is bytes here, but " + type_name(info.type) +
                                         " in the file: register it as the run that saved it did");
  }
  const Shape shape{static_cast<std::uint64_t>(ranks), thing.shape.front()};
  if (info.shape != shape) {
    throw Error(Code::invalid_argument,
                "checkpoint: the bytes " + model::quoted(thing.name) + " have the shape " +
                    shape_text(shape) + " here (ranks, bytes of each), but " +
                    shape_text(info.shape) +
                    " in the file: restore them with the size that was saved");
  }
  return variable;
}

void require_right(const Registered& thing) {
  if (thing.wrong) {
    std::rethrow_exception(thing.wrong);
  }
}

}  // namespace

void State::add(Registered thing, bool is_saved) {
  const std::string what = "checkpoint: " + model::quoted(thing.name) + ": ";
  model::check_name(thing.name);
  if (is_own_name(thing.name)) {
    throw Error(Code::bad_name,
                what + "the group checkpoint is the library's: choose another name");
  }
  if (std::holds_alternative<OfText>(thing.memory) &&
      (thing.type.bytes == 0 || thing.type.bytes > most_text_bytes)) {
    throw Error(Code::invalid_argument, what + "a text needs room for 1 to 8388607 bytes");
  }
  if (is_of_rank(thing) && thing.shape.front() == 0) {
    throw Error(Code::invalid_argument, what + "no bytes: leave it out");
  }
  const auto found = known(thing.name);
  if (found == things_.end() && is_saved) {
    throw Error(Code::wrong_state, what +
                                       "is new, but there are checkpoints without it: register "
                                       "everything before the first save");
  }
  if (found == things_.end()) {
    require_right(thing);
    const model::Definition definition = definition_of(thing);
    try {
      checked_->check(definition);
    } catch (const Error& e) {
      throw Error(e.code(), std::string("checkpoint: ") + e.what());
    }
    checked_->add(definition);
    things_.push_back(std::move(thing));
    return;
  }
  if (!(found->type == thing.type) || found->shape != thing.shape ||
      is_of_rank(*found) != is_of_rank(thing)) {
    throw Error(Code::exists, what + "is registered as " + what_text(found->type, found->shape) +
                                  ", not as " + what_text(thing.type, thing.shape) +
                                  ": choose another name");
  }
  keep_used();
  found->memory = std::move(thing.memory);
  found->wrong = thing.wrong;  // no save reads the memory of before
  require_right(*found);
}

void State::spoil(const std::string& name, const std::exception_ptr& why) {
  if (const auto found = known(name); found != things_.end()) {
    found->wrong = why;
  }
}

std::vector<Registered>::iterator State::known(const std::string& name) {
  return std::find_if(things_.begin(), things_.end(),
                      [&](const Registered& thing) { return thing.name == name; });
}

std::vector<Variable> State::define(File& file, int ranks) const {
  std::vector<Variable> variables;
  for (const Registered& thing : things_) {
    if (is_of_rank(thing)) {
      variables.push_back(file.define_raw(bytes_variable(thing.name, ranks), thing.type,
                                          {static_cast<std::uint64_t>(ranks), thing.shape.front()},
                                          {.steps = true, .partial = true}));
    } else {
      variables.push_back(file.define_raw(thing.name, thing.type, thing.shape, {.steps = true}));
    }
  }
  return variables;
}

void State::put(Step& step, const std::vector<Variable>& variables, int rank) {
  keep_used();
  for (std::size_t i = 0; i < things_.size(); ++i) {
    Registered& thing = things_[i];
    require_right(thing);
    if (const auto* place = std::get_if<ByPlace>(&thing.memory)) {
      step.put_raw(variables[i], place->data, thing.type, place->mine);
    } else if (const auto* rows = std::get_if<ByRows>(&thing.memory)) {
      step.put_rows_raw(variables[i], rows->ids.data(), rows->ids.size(), rows->data, thing.type);
    } else if (const auto* bytes = std::get_if<OfRank>(&thing.memory)) {
      step.put_raw(variables[i], bytes->data, thing.type,
                   {.start = {static_cast<std::uint64_t>(rank), 0}, .count = {1, thing.shape[0]}});
    } else if (const auto* value = std::get_if<SingleValue>(&thing.memory); value && rank == 0) {
      step.put_raw(variables[i], value->value, thing.type, {});
    } else if (auto* text = std::get_if<OfText>(&thing.memory); text && rank == 0) {
      text->padded = padded_of(thing, text->memory);
      step.put_raw(variables[i], text->padded.data(), thing.type, {});
    }
  }
}

std::string State::left_out(const File& file) const {
  for (const VariableInfo& info : file.variables()) {
    if (info.steps && !is_own_name(info.name) &&
        std::none_of(things_.begin(), things_.end(),
                     [&](const Registered& thing) { return is_in(thing, info.name); })) {
      return model::quoted(info.partial ? info.name.substr(0, info.name.rfind(bytes_variables("")))
                                        : info.name);
    }
  }
  return {};
}

void State::require_all_of(const File& file, const std::string& path) const {
  const std::string name = left_out(file);
  if (!name.empty()) {
    throw Error(Code::wrong_state,
                path + ": save: it would replace checkpoints that hold " + name +
                    ", which is not registered: register it, choose another name, or replace the "
                    "checkpoints by a new Checkpoint whose first call is save()");
  }
}

bool State::has_more(const File& file) const {
  const std::vector<VariableInfo> all = file.variables();
  return std::any_of(things_.begin(), things_.end(), [&](const Registered& thing) {
    return std::none_of(all.begin(), all.end(),
                        [&](const VariableInfo& info) { return is_in(thing, info.name); });
  });
}

void State::check(const File& in) const {
  for (const Registered& thing : things_) {
    if (is_of_rank(thing)) {
      check_bytes(in, thing.name);  // their size depends on the checkpoint: see find_bytes()
      continue;
    }
    const VariableInfo info = in.info(in.find(thing.name));
    if (!(info.type == thing.type)) {
      throw Error(Code::type_mismatch,
                  "checkpoint: " + model::quoted(thing.name) + " is " + type_name(thing.type) +
                      " here, but " + type_name(info.type) +
                      " in the file: register it as the run that saved it did");
    }
    if (info.shape != thing.shape) {
      throw Error(Code::invalid_argument,
                  "checkpoint: " + model::quoted(thing.name) + " has the shape " +
                      shape_text(thing.shape) + " here, but " + shape_text(info.shape) +
                      " in the file: restore it with the size that was saved");
    }
  }
}

std::vector<std::string> State::kept(const std::string& path, int ranks, int writers) const {
  std::vector<std::string> names;
  for (const Registered& thing : things_) {
    const auto* bytes = std::get_if<OfRank>(&thing.memory);
    if (bytes == nullptr || ranks == writers) {
      continue;
    }
    if (bytes->otherwise == OnOtherRanks::refuse) {
      throw Error(Code::unsupported,
                  path + ": " + model::quoted(thing.name) + " holds bytes of " +
                      std::to_string(writers) + " ranks, which cannot be dealt to " +
                      std::to_string(ranks) + ": restart on " + std::to_string(writers) +
                      " ranks, or register them to stay as they are on other ranks (keep)");
    }
    names.push_back(thing.name);
  }
  return names;
}

std::vector<Variable> State::find(const File& in, int ranks, int writers) const {
  std::vector<Variable> variables;
  for (const Registered& thing : things_) {
    if (!is_of_rank(thing)) {
      variables.push_back(in.find(thing.name));
    } else if (ranks == writers) {
      variables.push_back(find_bytes(in, thing, ranks));
    } else {
      variables.emplace_back();
    }
  }
  return variables;
}

void State::defer_gets(File& in, const std::vector<Variable>& variables, std::uint64_t step,
                       int rank, bool same_ranks) {
  keep_used();
  forget_read();
  for (std::size_t i = 0; i < things_.size(); ++i) {
    Registered& thing = things_[i];
    require_right(thing);
    if (auto* place = std::get_if<ByPlace>(&thing.memory)) {
      in.defer_get_raw(variables[i], place->data, thing.type, place->mine, step);
    } else if (auto* value = std::get_if<SingleValue>(&thing.memory)) {
      in.defer_get_raw(variables[i], value->value, thing.type, {}, step);
    } else if (auto* text = std::get_if<OfText>(&thing.memory)) {
      text->padded.assign(thing.type.bytes, '\0');
      in.defer_get_raw(variables[i], text->padded.data(), thing.type, {}, step);
    } else if (auto* bytes = std::get_if<OfRank>(&thing.memory); bytes && same_ranks) {
      bytes->read.resize(thing.shape[0]);  // what an older checkpoint does not replace must stay
      in.defer_get_raw(
          variables[i], bytes->read.data(), thing.type,
          {.start = {static_cast<std::uint64_t>(rank), 0}, .count = {1, thing.shape[0]}}, step);
    }
  }
}

void State::finish_gets(File& in, const std::vector<Variable>& variables, std::uint64_t step) {
  in.perform_gets();
  for (std::size_t i = 0; i < things_.size(); ++i) {
    Registered& thing = things_[i];
    if (auto* rows = std::get_if<ByRows>(&thing.memory)) {
      in.get_rows_raw(variables[i], rows->ids.data(), rows->ids.size(), rows->data, thing.type,
                      step);
    } else if (auto* text = std::get_if<OfText>(&thing.memory)) {
      take_padded(thing, *text);
    }
  }
  for (Registered& thing : things_) {
    if (auto* bytes = std::get_if<OfRank>(&thing.memory); bytes && !bytes->read.empty()) {
      std::memcpy(bytes->data, bytes->read.data(), bytes->read.size());
      bytes->read = {};
    }
  }
}

/// Leaves what a message may still use to it, for ever.
void State::keep_used() noexcept {
  for (Registered& thing : things_) {
    if (auto* text = std::get_if<OfText>(&thing.memory)) {
      mark_.keep_used(text->padded);
    } else if (auto* bytes = std::get_if<OfRank>(&thing.memory)) {
      mark_.keep_used(bytes->read);
    }
  }
  mark_ = {};
}

void State::forget_read() noexcept {
  for (Registered& thing : things_) {
    if (auto* bytes = std::get_if<OfRank>(&thing.memory)) {
      bytes->read = {};
    }
  }
}

}  // namespace sluice::detail
