#include "draw/povray.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "spins/convert_spins.hpp"

namespace sluice::cli {

namespace {

std::string file_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string stem_of(const std::string& scene) {
  return scene.ends_with(".pov") ? scene.substr(0, scene.size() - 4) : scene;
}

std::string vector(const std::array<double, 3>& v) {
  return fmt::format("<{:.6g}, {:.6g}, {:.6g}>", v[0], v[1], v[2]);
}

std::array<double, 3> plus(const std::array<double, 3>& a, double f,
                           const std::array<double, 3>& b) {
  return {a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2]};
}

double arrow_length(const View& view, std::int32_t material, double spacing) {
  if (view.arrow_sizes.empty()) {
    return 0.8 * spacing;
  }
  const auto number = static_cast<std::size_t>(std::max(material, 0));
  return view.arrow_sizes[std::min(number, view.arrow_sizes.size() - 1)];
}

}  // namespace

std::string povray_frame_name(const std::string& scene, std::uint32_t frame) {
  return numbered(stem_of(scene) + ".inc", frame);
}

std::string povray_scene(const std::string& scene, const View& view, const Extent3& sample,
                         const Camera& camera, int width, int height, std::uint32_t frame) {
  const double size = sample.size(0) + sample.size(1) + sample.size(2) + 10;
  const Rgb paper = background_of(view.background);
  const double scale = camera.pixels_per_angstrom();
  std::array<double, 3> light = plus(camera.middle(), 3 * size, camera.to_eye());
  light = plus(plus(light, -size, camera.right()), size, camera.up());
  std::string out = fmt::format(
      "// Spins of atoms, made by sluice render --povray.\n"
      "//   povray +I{0} +W{1} +H{2} +A                   frame {3}\n"
      "//   povray +I{0} +W{1} +H{2} +A +KFI0 +KFF9       a film of frames 0 to 9\n"
      "#version 3.7;\n"
      "global_settings {{ assumed_gamma 1.0 }}\n"
      "background {{ color srgb <{4:.4g}, {5:.4g}, {6:.4g}> }}\n",
      file_part(scene), width, height, frame, paper[0], paper[1], paper[2]);
  // A left-handed system: the right axis is given explicitly, so that nothing is mirrored.
  out += fmt::format("camera {{ orthographic location {} direction {} right {} up {} }}\n",
                     vector(plus(camera.middle(), 2 * size, camera.to_eye())),
                     vector({-camera.to_eye()[0], -camera.to_eye()[1], -camera.to_eye()[2]}),
                     vector({camera.right()[0] * width / scale, camera.right()[1] * width / scale,
                             camera.right()[2] * width / scale}),
                     vector({camera.up()[0] * height / scale, camera.up()[1] * height / scale,
                             camera.up()[2] * height / scale}));
  out += "light_source { " + vector(light) + " color rgb 1 parallel point_at " +
         vector(camera.middle()) + " }\n";
  out +=
      "#declare Finish = finish { ambient 0.25 diffuse 0.75 specular 0.15 }\n"
      "// place, spin, colour, radius of the sphere, length of the arrow\n"
      "#macro Atom(X, Y, Z, SX, SY, SZ, R, G, B, Radius, Arrow)\n"
      "union {\n"
      "  sphere { <X, Y, Z>, Radius }\n"
      "  cylinder { <X, Y, Z> - 0.5*Arrow*<SX, SY, SZ>, <X, Y, Z> + 0.3*Arrow*<SX, SY, SZ>, "
      "0.07*Arrow }\n"
      "  cone { <X, Y, Z> + 0.3*Arrow*<SX, SY, SZ>, 0.18*Arrow, <X, Y, Z> + "
      "0.75*Arrow*<SX, SY, SZ>, 0 }\n"
      "  pigment { color srgb <R, G, B> }\n"
      "  finish { Finish }\n"
      "}\n"
      "#end\n";
  out += fmt::format(
      "#if (clock_on) #declare Frame = frame_number; #else #declare Frame = {}; #end\n"
      "#include concat(\"{}-\", str(Frame, -8, 0), \".inc\")\n",
      frame, file_part(stem_of(scene)));
  return out;
}

std::string povray_atoms(const ChosenAtoms& atoms, const SpinColours& colours, const View& view,
                         double spacing) {
  std::string out;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const double* x = atoms.xyz.data() + 3 * i;
    const double* s = atoms.spin.data() + 3 * i;
    const Rgb rgb = colours.of(s);
    // Smaller spheres, so that the arrows are visible.
    const double radius =
        (view.atom_sizes.empty() ? 0.6 : 1.0) * radius_of(view, atoms.material[i], spacing);
    fmt::format_to(std::back_inserter(out),
                   "Atom({:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.3f},{:.3f},{:.3f},{:.4g},"
                   "{:.4g})\n",
                   x[0], x[1], x[2], s[0], s[1], s[2], rgb[0], rgb[1], rgb[2], radius,
                   arrow_length(view, atoms.material[i], spacing));
  }
  return out;
}

}  // namespace sluice::cli
