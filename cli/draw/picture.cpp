#include "draw/picture.hpp"

#include <algorithm>
#include <cmath>

#include "draw/font.hpp"
#include "sluice/error.hpp"

#ifdef SLUICE_HAS_PNG
#include <png.h>
#endif

namespace sluice::cli {

namespace {

constexpr int colour_bits = 24;
/// Number of depth steps; the background is behind all of them.
constexpr double depth_steps = 1 << 30;

std::int64_t packed(const Rgb& colour) {
  std::int64_t bits = 0;
  for (const double part : colour) {
    bits = (bits << 8) | static_cast<std::int64_t>(std::lround(255 * std::clamp(part, 0.0, 1.0)));
  }
  return bits;
}

}  // namespace

Picture::Picture(int width, int height, const Rgb& background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
              (static_cast<std::int64_t>(2 * depth_steps) << colour_bits) | packed(background)) {}

void Picture::set(int x, int y, double depth, const Rgb& colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) {
    return;
  }
  const auto steps = static_cast<std::int64_t>(depth_steps * std::clamp(depth, 0.0, 1.0));
  std::int64_t& pixel = pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                                static_cast<std::size_t>(x)];
  pixel = std::min(pixel, (steps << colour_bits) | packed(colour));
}

void Picture::unite(exec::Transport& transport) { transport.allreduce(pixels_, exec::Op::min); }

void Picture::fill(int x, int y, int columns, int rows, const Rgb& colour) {
  for (int row = std::max(y, 0); row < std::min(y + rows, height_); ++row) {
    for (int column = std::max(x, 0); column < std::min(x + columns, width_); ++column) {
      pixels_[static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
              static_cast<std::size_t>(column)] = packed(colour);
    }
  }
}

int Picture::width_of(const std::string& text, int scale) {
  return static_cast<int>(letters_of(text).size()) * (glyph_columns + 1) * scale;
}

int Picture::write(int x, int y, const std::string& text, const Rgb& colour, int scale) {
  for (const char32_t letter : letters_of(text)) {
    const Glyph& glyph = glyph_of(letter);
    for (int row = 0; row < glyph_rows; ++row) {
      for (int column = 0; column < glyph_columns; ++column) {
        if ((glyph[static_cast<std::size_t>(row)] >> (glyph_columns - 1 - column) & 1) != 0) {
          fill(x + column * scale, y + row * scale, scale, scale, colour);
        }
      }
    }
    x += (glyph_columns + 1) * scale;
  }
  return width_of(text, scale);
}

std::vector<std::uint8_t> Picture::bytes() const {
  std::vector<std::uint8_t> out;
  out.reserve(3 * pixels_.size());
  for (const std::int64_t pixel : pixels_) {
    for (const int shift : {16, 8, 0}) {
      out.push_back(static_cast<std::uint8_t>(pixel >> shift & 255));
    }
  }
  return out;
}

#ifdef SLUICE_HAS_PNG

bool can_encode_png() noexcept { return true; }

std::vector<std::byte> encode_png(const std::vector<std::uint8_t>& rgb, int width, int height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.data(), 0, nullptr) == 0) {
    throw Error(Code::internal, std::string("libpng: ") + image.message);
  }
  bytes.resize(size);
  return bytes;
}

#else

bool can_encode_png() noexcept { return false; }

std::vector<std::byte> encode_png(const std::vector<std::uint8_t>&, int, int) {
  throw Error(Code::unsupported,
              "pictures need libpng, which was missing when sluice was built: install libpng-dev "
              "and build again, or use --povray");
}

#endif

}  // namespace sluice::cli
