/* A filter plugin of HDF5: bytes that repeat are counted. The first value says how it behaves
   otherwise. TOY_ID: its number; TOY_CALLS_HDF5: with a set_local, and linked to a libhdf5. */
#include <hdf5.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { counts = 0, grows = 1, gives_up = 2, decodes_too_much = 3, fails_to_decode = 4 };

/* Pairs of a count and a byte; 0 where there is no memory. */
static size_t encode(const unsigned char* in, size_t size, unsigned char* out) {
  size_t used = 0;
  for (size_t at = 0; at < size;) {
    size_t length = 1;
    while (at + length < size && length < 255 && in[at + length] == in[at]) {
      ++length;
    }
    out[used++] = (unsigned char)length;
    out[used++] = in[at];
    at += length;
  }
  return used;
}

static size_t decoded_size(const unsigned char* in, size_t size) {
  size_t sum = 0;
  for (size_t at = 0; at + 1 < size; at += 2) {
    sum += in[at];
  }
  return sum;
}

static size_t filter(unsigned flags, size_t count, const unsigned values[], size_t size,
                     size_t* room, void** buffer) {
  const unsigned kind = count == 0 ? counts : values[0];
  const int decodes = (flags & H5Z_FLAG_REVERSE) != 0;
  const unsigned char* in = *buffer;
  if ((!decodes && kind == gives_up) || (decodes && kind == fails_to_decode) || size == 0) {
    return 0;
  }
  size_t most = decodes ? decoded_size(in, size) : 2 * size;
  size_t used = 0;
  most += kind == grows || kind == decodes_too_much ? size + 100 : 0;
  unsigned char* out = malloc(most == 0 ? 1 : most);
  if (out == NULL) {
    return 0;
  }
  if (decodes) {
    for (size_t at = 0; at + 1 < size; at += 2) {
      memset(out + used, in[at + 1], in[at]);
      used += in[at];
    }
  } else {
    used = encode(in, size, out);
  }
  if ((kind == grows && !decodes) || (kind == decodes_too_much && decodes)) {
    memset(out + used, 0, most - used);
    used = most;
  }
  free(*buffer);
  *buffer = out;
  *room = most;
  return used;
}

#ifdef TOY_CALLS_HDF5
static htri_t can_apply(hid_t list, hid_t type, hid_t space) {
  hsize_t chunk[32];
  (void)space;
  return H5Tget_class(type) == H5T_INTEGER && H5Pget_chunk(list, 32, chunk) > 0;
}

/* Behind the value that was asked for: the bytes of an element, the elements of a chunk. */
static herr_t set_local(hid_t list, hid_t type, hid_t space) {
  unsigned flags = 0;
  unsigned values[3] = {0, 0, 0};
  size_t count = 1;
  hsize_t chunk[32];
  (void)space;
  const int rank = H5Pget_chunk(list, 32, chunk);
  if (rank < 0 || H5Pget_filter_by_id2(list, TOY_ID, &flags, &count, values, 0, NULL, NULL) < 0) {
    return -1;
  }
  values[1] = (unsigned)H5Tget_size(type);
  values[2] = 1;
  for (int d = 0; d < rank; ++d) {
    values[2] *= (unsigned)chunk[d];
  }
  return H5Pmodify_filter(list, TOY_ID, flags, 3, values);
}
#else
#define can_apply NULL
#define set_local NULL
#endif

static const H5Z_class2_t row = {H5Z_CLASS_T_VERS, TOY_ID,    1,     1, "toy",
                                 can_apply,        set_local, filter};

int H5PLget_plugin_type(void) { return 0; /* H5PL_TYPE_FILTER */ }
const void* H5PLget_plugin_info(void) { return &row; }
