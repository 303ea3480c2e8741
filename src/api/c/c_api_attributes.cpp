// The C interface: attributes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <variant>

#include "api/c/c_api_handle.hpp"

using sluice::Code;
using sluice::Error;
using sluice::Float16;
using sluice::Kind;
using sluice::Type;
using sluice::Value;
using sluice::commit::Output;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

namespace {

std::string place(const sluice_file& file, const char* owner, const char* name) {
  const std::string of = text_of(owner, "attribute: the owner");
  return path_of(file) + ": attribute " + text_of(name, "attribute: the name") +
         (of.empty() ? "" : " of " + of);
}

// -- setting --------------------------------------------------------------------------------------

/// One value, or the list, as T; From is what stands in memory.
template <class From, class T>
Value numbers(const void* values, std::int64_t count, const std::string& what) {
  const auto* from = static_cast<const From*>(values);
  auto convert = [&](From value) {
    if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>) {
      if (!std::in_range<T>(value)) {
        throw Error(Code::overflow, what + ": " + std::to_string(value) + " exceeds 64 bits");
      }
    }
    return static_cast<T>(value);
  };
  if (count == SLUICE_SCALAR) {
    return convert(*from);
  }
  std::vector<T> list;
  list.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    list.push_back(convert(from[i]));
  }
  return list;
}

std::string text_in(const char* slot, std::size_t bytes) { return {slot, strnlen(slot, bytes)}; }

Value value_of(const Type& type, std::int64_t count, const void* values, const std::string& what) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;  // in memory
  if (count < SLUICE_SCALAR || count > most) {
    throw Error(Code::invalid_argument, what + ": " + std::to_string(count) + " values");
  }
  if (count != 0) {
    require(values, "attribute: the values");
  }
  switch (type.kind) {
    case Kind::i8:
      return numbers<std::int8_t, std::int8_t>(values, count, what);
    case Kind::i16:
      return numbers<std::int16_t, std::int16_t>(values, count, what);
    case Kind::i32:
      return numbers<std::int32_t, std::int32_t>(values, count, what);
    case Kind::i64:
      return numbers<std::int64_t, std::int64_t>(values, count, what);
    case Kind::u8:
      return numbers<std::uint8_t, std::uint8_t>(values, count, what);
    case Kind::u16:
      return numbers<std::uint16_t, std::uint16_t>(values, count, what);
    case Kind::u32:
      return numbers<std::uint32_t, std::int64_t>(values, count, what);
    case Kind::u64:
      return numbers<std::uint64_t, std::int64_t>(values, count, what);
    case Kind::f16:
      return numbers<Float16, float>(values, count, what);
    case Kind::f32:
      return numbers<float, float>(values, count, what);
    case Kind::f64:
      return numbers<double, double>(values, count, what);
    case Kind::boolean:
      if (count == SLUICE_SCALAR) {
        return *static_cast<const std::uint8_t*>(values) != 0;
      }
      break;
    case Kind::string: {
      const auto* slots = static_cast<const char*>(values);
      if (count == SLUICE_SCALAR) {
        return text_in(slots, type.bytes);
      }
      std::vector<std::string> texts;
      for (std::int64_t i = 0; i < count; ++i) {
        texts.push_back(text_in(slots + static_cast<std::size_t>(i) * type.bytes, type.bytes));
      }
      return texts;
    }
    default:
      break;
  }
  throw Error(Code::unsupported, what + ": " + type_name(type) +
                                     (count == SLUICE_SCALAR ? "" : " lists") +
                                     " are not stored as attributes: use integers, floats, "
                                     "strings, or one bool");
}

// -- getting --------------------------------------------------------------------------------------

Value found(sluice_file& file, const char* owner, const char* name) {
  place(file, owner, name);  // refuses NULL
  return file.file->attribute(owner, name);
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

/// Of texts of so many bytes at most.
Type text_type(std::size_t bytes) {
  constexpr std::size_t most = SLUICE_STRING_BYTES_MAX;
  return {Kind::string, static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes, 1, most))};
}

/// Type and count of a value in the form of sluice_attribute_info.
std::pair<Type, std::int64_t> described(const Value& value) {
  return std::visit(
      [](const auto& v) -> std::pair<Type, std::int64_t> {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, std::string>) {
          return {text_type(v.size()), SLUICE_SCALAR};
        } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
          std::size_t longest = 0;
          for (const std::string& text : v) {
            longest = std::max(longest, text.size());
          }
          return {text_type(longest), static_cast<std::int64_t>(v.size())};
        } else if constexpr (is_list<V>) {
          return {sluice::type_of<typename V::value_type>(), static_cast<std::int64_t>(v.size())};
        } else {
          return {sluice::type_of<V>(), SLUICE_SCALAR};
        }
      },
      value);
}

template <class To, class From>
void store_number(From value, std::byte* to, const std::string& what) {
  bool fits = true;
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // 2^digits is exact in every float type; the largest integer is not.
    const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From least = std::is_signed_v<To> ? -beyond : From{0};
    fits = value >= least && value < beyond && value == std::trunc(value);
  } else if constexpr (std::is_integral_v<To>) {
    fits = value >= From{0} ? static_cast<std::uint64_t>(value) <=
                                  static_cast<std::uint64_t>(std::numeric_limits<To>::max())
                            : std::is_signed_v<To> &&
                                  static_cast<std::int64_t>(value) >=
                                      static_cast<std::int64_t>(std::numeric_limits<To>::min());
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    fits = !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max();
  }
  if (!fits) {
    throw Error(Code::overflow, what + ": " + std::to_string(value) + " does not fit");
  }
  const To converted = static_cast<To>(value);
  std::memcpy(to, &converted, sizeof converted);
}

void store_half(double value, std::byte* to, const std::string& what) {
  const Float16 converted(value);
  if (std::isfinite(value) && !std::isfinite(static_cast<float>(converted))) {
    throw Error(Code::overflow, what + ": " + std::to_string(value) + " does not fit");
  }
  std::memcpy(to, &converted, sizeof converted);
}

template <class From>
void store(From value, const Type& type, std::byte* to, const std::string& what) {
  switch (type.kind) {
    case Kind::i8:
      return store_number<std::int8_t>(value, to, what);
    case Kind::i16:
      return store_number<std::int16_t>(value, to, what);
    case Kind::i32:
      return store_number<std::int32_t>(value, to, what);
    case Kind::i64:
      return store_number<std::int64_t>(value, to, what);
    case Kind::u8:
      return store_number<std::uint8_t>(value, to, what);
    case Kind::u16:
      return store_number<std::uint16_t>(value, to, what);
    case Kind::u32:
      return store_number<std::uint32_t>(value, to, what);
    case Kind::u64:
      return store_number<std::uint64_t>(value, to, what);
    case Kind::f16:
      return store_half(static_cast<double>(value), to, what);
    case Kind::f32:
      return store_number<float>(value, to, what);
    case Kind::f64:
      return store_number<double>(value, to, what);
    case Kind::boolean:
      if (value == From{0} || value == From{1}) {
        *to = static_cast<std::byte>(value != From{0});
        return;
      }
      throw Error(Code::overflow, what + ": " + std::to_string(value) + " is not a bool");
    default:
      throw Error(Code::type_mismatch, what + ": a number cannot be read as " + type_name(type));
  }
}

void store_text(const std::string& text, const Type& type, std::byte* to, const std::string& what) {
  if (type.kind != Kind::string) {
    throw Error(Code::type_mismatch, what + ": a string cannot be read as " + type_name(type));
  }
  if (text.size() > type.bytes) {
    throw Error(Code::overflow,
                what + ": " + std::to_string(text.size()) + " bytes do not fit " + type_name(type));
  }
  std::memset(to, 0, type.bytes);
  std::memcpy(to, text.data(), text.size());
}

template <class T>
void store_one(const T& value, const Type& type, std::byte* to, const std::string& what) {
  if constexpr (std::is_same_v<T, std::string>) {
    store_text(value, type, to, what);
  } else if constexpr (std::is_same_v<T, bool>) {
    store(static_cast<std::int32_t>(value), type, to, what);
  } else {
    store(value, type, to, what);
  }
}

}  // namespace

int sluice_set_attribute(sluice_file* file, const char* owner, const char* name, sluice_type type,
                         int64_t count, const void* values) {
  return call_local(file, [&](sluice_file& f, Output&) {
    const std::string what = place(f, owner, name);
    f.file->set_attribute(owner, name,
                          value_of(type_of_code(type, what.c_str()), count, values, what));
  });
}

int sluice_set_text(sluice_file* file, const char* owner, const char* name, const char* text) {
  return call_local(file, [&](sluice_file& f, Output&) {
    place(f, owner, name);
    f.file->set_attribute(owner, name, text_of(text, "attribute: the text"));
  });
}

int sluice_set_texts(sluice_file* file, const char* owner, const char* name, int64_t count,
                     const char* const* texts) {
  return call_local(file, [&](sluice_file& f, Output&) {
    const std::string what = place(f, owner, name);
    if (count < 0) {
      throw Error(Code::invalid_argument, what + ": " + std::to_string(count) + " texts");
    }
    if (count > 0) {
      require(texts, "attribute: the texts");
    }
    std::vector<std::string> list;
    for (int64_t i = 0; i < count; ++i) {
      list.push_back(text_of(texts[i], "attribute: a text"));
    }
    f.file->set_attribute(owner, name, list);
  });
}

int sluice_attribute_count(sluice_file* file, const char* owner, int64_t* count) {
  return call(file, [&](sluice_file& f) {
    require(count, "the place for the count");
    const std::string of = text_of(owner, "attribute: the owner");
    *count = static_cast<int64_t>(f.file->attribute_names(of).size());
  });
}

int sluice_attribute_name(sluice_file* file, const char* owner, int64_t index, const char** name) {
  return call(file, [&](sluice_file& f) {
    require(static_cast<void*>(name), "the place for the name");
    const std::string of = text_of(owner, "attribute: the owner");
    const auto names = f.file->attribute_names(of);
    if (index < 0 || index >= static_cast<int64_t>(names.size())) {
      throw Error(Code::out_of_bounds,
                  f.impl->path() + ": attribute " +
                      sluice::model::number_text(static_cast<std::uint64_t>(index)) + " of " +
                      std::to_string(names.size()) + (of.empty() ? "" : " of " + of));
    }
    *name = f.text(names[static_cast<std::size_t>(index)]);
  });
}

int sluice_has_attribute(sluice_file* file, const char* owner, const char* name, int32_t* has) {
  return call(file, [&](sluice_file& f) {
    require(has, "the place for the answer");
    place(f, owner, name);
    *has = f.file->has_attribute(owner, name) ? 1 : 0;
  });
}

int sluice_attribute_info(sluice_file* file, const char* owner, const char* name, sluice_type* type,
                          int64_t* count) {
  return call(file, [&](sluice_file& f) {
    require(type, "the place for the type");
    require(count, "the place for the count");
    const auto [known, values] = described(found(f, owner, name));
    *type = code_of_type(known);
    *count = values;
  });
}

int sluice_get_attribute(sluice_file* file, const char* owner, const char* name, sluice_type type,
                         int64_t capacity, void* values) {
  return call(file, [&](sluice_file& f) {
    const std::string what = place(f, owner, name);
    const Type wanted = type_of_code(type, what.c_str());
    const Value value = found(f, owner, name);
    const std::int64_t count = std::max<std::int64_t>(described(value).second, 0);
    const bool is_scalar = described(value).second == SLUICE_SCALAR;
    const std::int64_t needed = is_scalar ? 1 : count;
    if (capacity < needed) {
      throw Error(Code::overflow, what + ": " + std::to_string(needed) + " values, space for " +
                                      std::to_string(capacity));
    }
    if (needed > 0) {
      require(values, "attribute: the place for the values");
    }
    // Converted into other memory, so that a failure leaves the caller's memory unchanged.
    std::vector<std::byte> converted(static_cast<std::size_t>(needed) * wanted.bytes);
    std::visit(
        [&](const auto& v) {
          if constexpr (is_list<std::decay_t<decltype(v)>>) {
            std::byte* to = converted.data();
            for (const auto& one : v) {
              store_one(one, wanted, to, what);
              to += wanted.bytes;
            }
          } else {
            store_one(v, wanted, converted.data(), what);
          }
        },
        value);
    std::memcpy(values, converted.data(), converted.size());
  });
}

int sluice_get_text(sluice_file* file, const char* owner, const char* name, int64_t index,
                    const char** text) {
  return call(file, [&](sluice_file& f) {
    require(static_cast<void*>(text), "the place for the text");
    const Value value = found(f, owner, name);
    const std::string what = place(f, owner, name);
    if (const auto* one = std::get_if<std::string>(&value); one != nullptr && index == 0) {
      *text = f.text(*one);
      return;
    }
    const auto* list = std::get_if<std::vector<std::string>>(&value);
    if (list == nullptr) {
      throw std::holds_alternative<std::string>(value)
          ? Error(Code::out_of_bounds,
                  what + ": text " + sluice::model::number_text(static_cast<std::uint64_t>(index)) +
                      " of 1")
          : Error(Code::type_mismatch, what + ": is not a string");
    }
    if (index < 0 || index >= static_cast<int64_t>(list->size())) {
      throw Error(Code::out_of_bounds,
                  what + ": text " + sluice::model::number_text(static_cast<std::uint64_t>(index)) +
                      " of " + std::to_string(list->size()));
    }
    *text = f.text((*list)[static_cast<std::size_t>(index)]);
  });
}
