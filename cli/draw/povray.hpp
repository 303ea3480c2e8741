// A scene for POV-Ray: a .pov with camera and shapes, and an .inc of the atoms for every frame.
#pragma once

#include "draw/scene.hpp"

namespace sluice::cli {

/// The file with the atoms of a frame, beside the scene.
std::string povray_frame_name(const std::string& scene, std::uint32_t frame);

/// The text of the scene; `frame` is shown unless POV-Ray renders a film.
std::string povray_scene(const std::string& scene, const View& view, const Extent3& sample,
                         const Camera& camera, int width, int height, std::uint32_t frame);

/// One line for each atom of this rank.
std::string povray_atoms(const ChosenAtoms& atoms, const SpinColours& colours, const View& view,
                         double spacing);

}  // namespace sluice::cli
