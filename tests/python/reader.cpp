// reader FILE RANKS: everything that Sluice reads in a file, on so many virtual ranks, as one line
// of text a variable and step: name, type, step, shape, values as hexadecimal file bytes; and one a
// numeric or text attribute of the file and of variables. Each rank reads its slab; rank 0 prints.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace {

using namespace sluice;
using namespace sluice::test;

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
    text += digits;
  }
  return text;
}

/// What the ranks read, joined in rank order: slabs of the slowest dimension are consecutive.
std::string read_all(exec::Transport& transport, File& in, const VariableInfo& info,
                     std::uint64_t step) {
  const Variable variable = in.find(info.name);
  model::Box box = slab(info.shape, transport.rank(), transport.size());
  if (info.shape.empty() && transport.rank() != 0) {
    std::vector<std::byte> unused(info.type.bytes);
    in.get_raw(variable, unused.data(), info.type, selection_of(box), step);
    transport.gather({}, 0);
    return "";
  }
  std::vector<std::byte> mine(box.volume() * info.type.bytes + 1);
  in.get_raw(variable, mine.data(), info.type, selection_of(box), step);
  mine.pop_back();
  std::string text;
  for (const auto& part : transport.gather(mine, 0)) {
    text += hex(part);
  }
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::uint64_t extent : shape) {
    text += (text.empty() ? "" : ",") + std::to_string(extent);
  }
  return text.empty() ? "-" : text;
}

void print_attribute(const File& in, const std::string& owner, const std::string& name) {
  if (!in.has_attribute(owner, name)) {
    return;
  }
  const Value value = in.attribute(owner, name);
  std::printf("attribute %s %s ", owner.empty() ? "/" : owner.c_str(), name.c_str());
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::printf("%s\n", text->c_str());
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    std::printf("%lld\n", static_cast<long long>(*whole));
  } else if (const auto* real = std::get_if<double>(&value)) {
    std::printf("%.17g\n", *real);
  } else {
    std::printf("(another kind)\n");
  }
}

void read_file(exec::Transport& transport, const std::string& path) {
  File in(detail::open_on(transport, storage::make("posix"), path, Mode::read));
  for (const VariableInfo& info : in.variables()) {
    for (std::uint64_t step = 0; step < (info.steps ? in.steps() : 1); ++step) {
      const std::string values = read_all(transport, in, info, step);
      if (transport.rank() == 0) {
        std::printf("variable %s %s %llu %s %s.\n", info.name.c_str(), type_name(info.type).c_str(),
                    static_cast<unsigned long long>(step), shape_text(info.shape).c_str(),
                    values.c_str());
      }
    }
    if (transport.rank() == 0) {
      print_attribute(in, info.name, "note");
    }
  }
  if (transport.rank() == 0) {
    print_attribute(in, "", "note");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: reader FILE RANKS\n");
    return 2;
  }
  try {
    exec::run_local(std::atoi(argv[2]), 1,
                    [&](exec::Transport& transport) { read_file(transport, argv[1]); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reader: %s\n", error.what());
    return 1;
  }
  return 0;
}
