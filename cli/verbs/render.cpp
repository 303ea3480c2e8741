// render: pictures of spins. On all ranks: each draws its atoms, the nearest ones are seen.
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "draw/povray.hpp"
#include "draw/scene.hpp"
#include "exec/transport/agree.hpp"
#include "help.hpp"
#include "new_file.hpp"
#include "sluice/error.hpp"
#include "spins/convert_spins.hpp"
#include "text/parallel_text.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

constexpr int max_side = 16384;

struct RenderVerb {
  std::string file;
  std::string to;
  std::string colour_map;
  std::string camera;
  std::string axis;
  std::string background;
  std::optional<double> zoom;
  std::vector<int> size{1000, 800};
  bool is_povray = false;
  SpinOptions choice;
};

std::vector<double> three(const std::string& option, const std::string& text) {
  std::vector<double> numbers = numbers_of(option, text);
  if (numbers.size() != 3) {
    throw Error(Code::invalid_argument, option + " " + text + ": expected three numbers");
  }
  return numbers;
}

/// The options over what a file of vdc's says.
void set_view(const Context& context, const RenderVerb& verb, View& view) {
  if (!verb.colour_map.empty()) view.colour_map = verb.colour_map;
  if (!verb.camera.empty()) view.camera = three("--camera", verb.camera);
  if (!verb.axis.empty()) view.vector_z = three("--axis", verb.axis);
  if (!verb.background.empty()) view.background = verb.background;
  if (verb.zoom) view.zoom = *verb.zoom;
  if (!(view.zoom > 0) || !std::isfinite(view.zoom)) {
    throw Error(Code::invalid_argument, "the zoom must be above 0 and finite");
  }
  const std::string& map = view.colour_map;
  if (map.find('.') != std::string::npos || map.find('/') != std::string::npos) {
    const auto bytes = exec::on_root(context.transport, [&] {
      constexpr std::uint64_t max_bytes = 1 << 20;
      const auto file = context.storage.open(map, storage::Access::read);
      std::vector<std::byte> text(std::min(file->size(), max_bytes));
      text.resize(file->read(0, text));
      return text;
    });
    view.custom_map = map_of_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, map);
  }
}

/// What all frames of a run of render have in common.
class Renderer {
 public:
  Renderer(const Context& context, const RenderVerb& verb, SpinSource& source,
           const SpinChoice& choice)
      : context_(context),
        verb_(verb),
        source_(source),
        view_(choice.view),
        chooser_(context, source, choice),
        colours_(view_),
        sample_(chooser_.region()),
        spacing_(spacing_of(sample_, atoms_in_region())),
        columns_(verb.size[0] - (verb.is_povray ? 0 : legend_columns(verb.size[0]))),
        camera_(view_, sample_, largest_radius(), columns_, verb.size[1]) {}

  int run() {
    const std::uint32_t first = chooser_.first_frame();
    const bool is_film = chooser_.end_frame() > first + 1;
    for (std::uint32_t frame = first; frame < chooser_.end_frame(); ++frame) {
      const ChosenAtoms atoms = chooser_.frame(frame);
      if (verb_.is_povray) {
        ParallelText text(context_, povray_frame_name(verb_.to, source_.number(frame)));
        text.append(povray_atoms(atoms, colours_, view_, spacing_));
        text.close();
      } else {
        draw(atoms, frame, is_film ? numbered(verb_.to, source_.number(frame)) : verb_.to);
      }
    }
    if (verb_.is_povray) {
      ParallelText text(context_, verb_.to);
      text.append_once(povray_scene(verb_.to, view_, sample_, camera_, verb_.size[0], verb_.size[1],
                                    source_.number(first)));
      text.close();
    }
    if (context_.is_root()) {
      tell("{}: {}\n", printable(verb_.to), count_text(chooser_.end_frame() - first, "frame"));
    }
    return fine;
  }

 private:
  std::uint64_t atoms_in_region() {
    auto count = static_cast<std::int64_t>(chooser_.wanted());
    context_.transport.allreduce({&count, 1}, exec::Op::sum);
    return static_cast<std::uint64_t>(count);
  }
  double largest_radius() const {
    double radius = radius_of(view_, 0, spacing_);
    for (const vampire::Material& material : source_.materials) {
      radius = std::max(radius, radius_of(view_, material.id, spacing_));
    }
    return radius;
  }
  std::vector<std::string> lines(std::uint32_t frame, std::size_t atoms) {
    auto shown = static_cast<std::int64_t>(atoms);
    context_.transport.allreduce({&shown, 1}, exec::Op::sum);
    const vampire::SpinsMeta meta = source_.meta(frame);
    std::vector<std::string> said{fmt::format("frame {}", source_.number(frame))};
    if (source_.has_times) {
      said.push_back(fmt::format("time {:.6g} ps", meta.time_s * 1e12));
    }
    if (source_.has_temperatures) {
      said.push_back(fmt::format("{:.6g} K", meta.temperature_k));
    }
    said.push_back(count_text(static_cast<std::uint64_t>(shown), "atom"));
    return said;
  }
  void draw(const ChosenAtoms& atoms, std::uint32_t frame, const std::string& path) {
    // The legend covers what lies beside the picture of the atoms.
    Picture picture(verb_.size[0], verb_.size[1], background_of(view_.background));
    draw_atoms(picture, camera_, atoms, colours_, view_, spacing_);
    picture.unite(context_.transport);
    const std::vector<std::string> said = lines(frame, atoms.size());
    draw_legend(picture, colours_, view_, columns_, said);
    exec::on_root(context_.transport, [&] {
      const auto bytes = encode_png(picture.bytes(), picture.width(), picture.height());
      write_new_file(context_.storage, path, bytes);
    });
  }

  const Context& context_;
  const RenderVerb& verb_;
  SpinSource& source_;
  View view_;
  SpinChooser chooser_;
  SpinColours colours_;
  Extent3 sample_;
  double spacing_;
  int columns_;
  Camera camera_;
};

int render(const Context& context, const RenderVerb& verb) {
  if (!verb.is_povray && !can_encode_png()) {
    encode_png({}, 0, 0);  // says why not
  }
  if (!verb.is_povray && !verb.to.ends_with(".png")) {
    throw Error(Code::invalid_argument, verb.to + ": pictures end in .png (or use --povray)");
  }
  const auto source = open_spins(context, verb.file);
  if (source == nullptr) {
    throw Error(Code::format, verb.file + ": holds no spins of atoms");
  }
  SpinChoice choice = choice_of(context, verb.choice);
  const bool has_frames = !verb.choice.frames.empty() || !verb.choice.vdc_input.empty();
  if (!has_frames && source->frames > 0) {
    choice.first_frame = source->frames - 1;
  }
  set_view(context, verb, choice.view);
  return Renderer(context, verb, *source, choice).run();
}

}  // namespace

void add_render(CLI::App& app, Run& run) {
  const auto verb = std::make_shared<RenderVerb>();
  CLI::App* command =
      add_verb(app, "render", "draw the spins of atoms: a picture, a film, a scene",
               "Draws the last frame of FILE (a folder of VAMPIRE, or a file with coordinates\n"
               "and spins) into the picture TO, with a legend. --frames A:B draws a picture of\n"
               "each frame, TO with the frame's number: a film. Each process draws its share of\n"
               "the atoms; the picture is the same for any number of processes. --povray writes\n"
               "a scene and a file of atoms for every frame instead; the first lines of the\n"
               "scene tell how to use it.\n",
               R"help(
Examples:
  sluice render run8/ spins.png
  mpirun -n 4 sluice render spins.h5 film.png --frames 0:100
  sluice render spins.h5 up.png --where 'sz > 0' --colours bwr
  sluice render run8/ spins.png --vdc-input vdc.in
  sluice render run8/ spins.pov --povray && povray +Ispins.pov +W800 +H600)help");
  command->group(tools_of_codes);
  command->add_option("FILE", verb->file, "what to draw")->required();
  command->add_option("TO", verb->to, "the picture to make; must not exist")->required();
  command
      ->add_option("--colours", verb->colour_map, "c2, cbwr, bwr, rainbow, or a file of rows r g b")
      ->type_name("MAP");
  command->add_option("--axis", verb->axis, "colours are about this axis (0,0,1)")
      ->type_name("X,Y,Z");
  command->add_option("--camera", verb->camera, "direction of the eye; else by the shape")
      ->type_name("X,Y,Z");
  command->add_option("--zoom", verb->zoom, "1: all of it is in the picture");
  command->add_option("--background", verb->background, "white, black, grey or r,g,b");
  command->add_option("--size", verb->size, "pixels (1000 800)")
      ->type_name("W H")
      ->expected(2)
      ->check(CLI::Range(200, max_side).description(""));
  command->add_flag("--povray", verb->is_povray, "a scene for POV-Ray");
  add_spin_options(*command, verb->choice);
  command->callback(
      [&run, verb] { run = [verb](const Context& context) { return render(context, *verb); }; });
}

}  // namespace sluice::cli
