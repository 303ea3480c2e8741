#include "layout/hdf5/types.hpp"

#include <array>
#include <string>

namespace sluice::layout::hdf5 {

namespace {

Handle complex_type(hid_t part, std::size_t part_bytes) {
  Handle type = own(H5Tcreate(H5T_COMPOUND, 2 * part_bytes), "complex type");
  check(H5Tinsert(type.get(), "r", 0, part), "complex type");
  check(H5Tinsert(type.get(), "i", part_bytes, part), "complex type");
  return type;
}

Handle boolean_type() {
  Handle type = own(H5Tenum_create(H5T_STD_I8LE), "boolean type");
  const std::array<std::int8_t, 2> values{0, 1};
  check(H5Tenum_insert(type.get(), "FALSE", &values[0]), "boolean type");
  check(H5Tenum_insert(type.get(), "TRUE", &values[1]), "boolean type");
  return type;
}

Handle text_type(std::size_t bytes) {
  Handle type = own(H5Tcopy(H5T_C_S1), "string type");
  check(H5Tset_size(type.get(), bytes), "string type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "string type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "string type");
  return type;
}

/// IEEE 754 binary16, as h5py creates it for numpy's float16: libhdf5 has no such predefined type
/// before 1.14.4. libhdf5 converts it to and from other sizes by the bit fields.
Handle half_type(bool big_endian) {
  Handle half = own(H5Tcopy(big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE), "float16 type");
  check(H5Tset_fields(half.get(), 15, 10, 5, 0, 10), "float16 type");
  check(H5Tset_size(half.get(), 2), "float16 type");
  check(H5Tset_ebias(half.get(), 15), "float16 type");
  return half;
}

hid_t number_type(Kind kind) {
  switch (kind) {
    case Kind::i8:
      return H5T_STD_I8LE;
    case Kind::i16:
      return H5T_STD_I16LE;
    case Kind::i32:
      return H5T_STD_I32LE;
    case Kind::i64:
      return H5T_STD_I64LE;
    case Kind::u8:
      return H5T_STD_U8LE;
    case Kind::u16:
      return H5T_STD_U16LE;
    case Kind::u32:
      return H5T_STD_U32LE;
    case Kind::u64:
      return H5T_STD_U64LE;
    case Kind::f32:
      return H5T_IEEE_F32LE;
    default:
      return H5T_IEEE_F64LE;
  }
}

}  // namespace

Handle file_type(const Type& type) {
  switch (type.kind) {
    case Kind::f16:
      return half_type(false);
    case Kind::c64:
      return complex_type(H5T_IEEE_F32LE, 4);
    case Kind::c128:
      return complex_type(H5T_IEEE_F64LE, 8);
    case Kind::boolean:
      return boolean_type();
    case Kind::string:
      return text_type(type.bytes);
    default:
      return own(H5Tcopy(number_type(type.kind)), "number type");
  }
}

namespace {

constexpr const char* type_query = "data type";

bool is_same(hid_t a, hid_t b) { return is_yes(H5Tequal(a, b), type_query); }

/// libhdf5 returns 0 if it failed.
std::size_t size_of(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0) {
    throw library_error(type_query);
  }
  return bytes;
}

std::optional<StoredType> stored_number(hid_t type, H5T_class_t kind) {
  const std::size_t bytes = size_of(type);
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE && bytes != 1) {
    return std::nullopt;
  }
  const bool big = order == H5T_ORDER_BE;
  if (kind == H5T_FLOAT) {
    if (is_same(type, big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE)) {
      return StoredType{{Kind::f32, 4}, big};
    }
    if (is_same(type, big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE)) {
      return StoredType{{Kind::f64, 8}, big};
    }
    if (bytes == 2 && is_same(type, half_type(big).get())) {
      return StoredType{{Kind::f16, 2}, big};
    }
    return std::nullopt;
  }
  if (H5Tget_precision(type) != 8 * bytes) {
    return std::nullopt;
  }
  const H5T_sign_t sign = H5Tget_sign(type);
  check(sign == H5T_SGN_ERROR ? -1 : 0, type_query);
  const bool is_signed = sign == H5T_SGN_2;
  switch (bytes) {
    case 1:
      return StoredType{{is_signed ? Kind::i8 : Kind::u8, 1}, false};
    case 2:
      return StoredType{{is_signed ? Kind::i16 : Kind::u16, 2}, big};
    case 4:
      return StoredType{{is_signed ? Kind::i32 : Kind::u32, 4}, big};
    case 8:
      return StoredType{{is_signed ? Kind::i64 : Kind::u64, 8}, big};
    default:
      return std::nullopt;
  }
}

std::optional<StoredType> stored_complex(hid_t type) {
  if (checked(H5Tget_nmembers(type), type_query) != 2 || H5Tget_member_index(type, "r") != 0 ||
      H5Tget_member_index(type, "i") != 1) {
    return std::nullopt;
  }
  const Handle real = own(H5Tget_member_type(type, 0), type_query);
  const Handle imaginary = own(H5Tget_member_type(type, 1), type_query);
  const auto part = stored_type(real.get());
  if (!part || !is_same(real.get(), imaginary.get()) ||
      size_of(type) != 2 * std::size_t{part->type.bytes} ||
      H5Tget_member_offset(type, 1) != part->type.bytes) {
    return std::nullopt;
  }
  if (part->type.kind == Kind::f32) {
    return StoredType{{Kind::c64, 8}, part->big_endian};
  }
  if (part->type.kind == Kind::f64) {
    return StoredType{{Kind::c128, 16}, part->big_endian};
  }
  return std::nullopt;
}

std::optional<StoredType> stored_boolean(hid_t type) {
  if (size_of(type) != 1 || checked(H5Tget_nmembers(type), type_query) != 2) {
    return std::nullopt;
  }
  std::int8_t no = -1;
  std::int8_t yes = -1;
  if (H5Tenum_valueof(type, "FALSE", &no) < 0 || H5Tenum_valueof(type, "TRUE", &yes) < 0 ||
      no != 0 || yes != 1) {  // negative: there is no such name
    return std::nullopt;
  }
  return StoredType{{Kind::boolean, 1}, false};
}

}  // namespace

std::optional<StoredType> stored_type(hid_t type) {
  const QuietErrors quiet;
  const H5T_class_t kind = H5Tget_class(type);
  switch (kind) {
    case H5T_INTEGER:
    case H5T_FLOAT:
      return stored_number(type, kind);
    case H5T_COMPOUND:
      return stored_complex(type);
    case H5T_ENUM:
      return stored_boolean(type);
    case H5T_STRING:
      if (!is_yes(H5Tis_variable_str(type), type_query)) {
        return StoredType{{Kind::string, static_cast<std::uint32_t>(size_of(type))}, false};
      }
      return std::nullopt;
    case H5T_NO_CLASS:
      throw library_error(type_query);
    default:
      return std::nullopt;
  }
}

Handle element_type(hid_t stored, const Type& type, bool is_characters) {
  if (is_characters) {
    return own(H5Tcopy(H5T_C_S1), "character type");
  }
  if (type.kind == Kind::string) {
    // Keeps its character set: libhdf5 does not convert between them.
    Handle text = own(H5Tcopy(stored), "text type");
    check(H5Tset_strpad(text.get(), H5T_STR_NULLPAD), "text type");
    return text;
  }
  const bool is_flag = type.kind == Kind::boolean && H5Tget_class(stored) == H5T_INTEGER;
  return is_flag ? own(H5Tcopy(H5T_STD_I8LE), "number type") : file_type(type);
}

Handle dataspace(const model::Dims& dims) {
  if (dims.empty()) {
    return own(H5Screate(H5S_SCALAR), "dataspace");
  }
  std::array<hsize_t, model::max_rank> extent{};
  for (int d = 0; d < dims.rank(); ++d) {
    extent[static_cast<std::size_t>(d)] = dims[d];
  }
  return own(H5Screate_simple(dims.rank(), extent.data(), nullptr), "dataspace");
}

}  // namespace sluice::layout::hdf5
