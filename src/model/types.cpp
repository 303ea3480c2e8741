#include "sluice/types.hpp"

#include "sluice/error.hpp"

namespace sluice {

Type type_of(Kind kind) {
  switch (kind) {
    case Kind::i8:
    case Kind::u8:
    case Kind::boolean:
      return {kind, 1};
    case Kind::i16:
    case Kind::u16:
    case Kind::f16:
      return {kind, 2};
    case Kind::i32:
    case Kind::u32:
    case Kind::f32:
      return {kind, 4};
    case Kind::i64:
    case Kind::u64:
    case Kind::f64:
    case Kind::c64:
      return {kind, 8};
    case Kind::c128:
      return {kind, 16};
    case Kind::string:
      throw Error(Code::invalid_argument, "a string type needs a length: use string_type(bytes)");
  }
  throw Error(Code::invalid_argument, "unknown kind " + std::to_string(static_cast<int>(kind)));
}

Type string_type(std::uint32_t bytes) {
  if (bytes == 0) {
    throw Error(Code::invalid_argument, "a string type needs a length of at least 1 byte");
  }
  return {Kind::string, bytes};
}

std::string type_name(const Type& type) {
  switch (type.kind) {
    case Kind::i8:
      return "int8";
    case Kind::i16:
      return "int16";
    case Kind::i32:
      return "int32";
    case Kind::i64:
      return "int64";
    case Kind::u8:
      return "uint8";
    case Kind::u16:
      return "uint16";
    case Kind::u32:
      return "uint32";
    case Kind::u64:
      return "uint64";
    case Kind::f16:
      return "float16";
    case Kind::f32:
      return "float32";
    case Kind::f64:
      return "float64";
    case Kind::c64:
      return "complex64";
    case Kind::c128:
      return "complex128";
    case Kind::boolean:
      return "bool";
    case Kind::string:
      return "string[" + std::to_string(type.bytes) + "]";
  }
  return "kind " + std::to_string(static_cast<int>(type.kind));
}

}  // namespace sluice
