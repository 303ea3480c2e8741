#include "materials.hpp"

#include "text.hpp"

namespace parabmu {

Materials read_materials(const std::string& path) {
  LineReader reader(path);
  Materials materials;
  std::string_view line;
  while (reader.next(line)) {
    const auto words = words_of(line);
    if (words.empty()) {
      continue;
    }
    std::int64_t id = 0;
    double values[3];
    bool fits = words.size() == 4 && parse(words[0], id);
    for (std::size_t i = 0; fits && i < 3; ++i) {
      fits = parse(words[i + 1], values[i]);
    }
    if (!fits) {
      reader.refuse("not a material `id E nu remodel`");
    }
    if (id < 1 || id > 255) {
      reader.refuse("material " + words[0] + ": ids are 1 to 255");
    }
    if (!(values[0] > 0) || !(values[1] > -1) || !(values[1] < 0.5)) {
      reader.refuse("E must be above 0, nu between -1 and 0.5");
    }
    auto& material = materials[static_cast<std::size_t>(id)];
    if (material) {
      reader.refuse("material " + words[0] + " is there twice");
    }
    material = Material{values[0], values[1]};
  }
  return materials;
}

}  // namespace parabmu
