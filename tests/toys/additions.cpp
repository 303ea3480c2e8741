// Adds the toys to the conformance suite, and declares the behaviours that have no meaning for the
// format.
#include "layout/formats/formats.hpp"
#include "support/unsupported.hpp"
#include "support/world.hpp"
#include "toys/toys.hpp"

namespace sluice::test {

void register_additions() {
  layout::register_format(toys::toy_format);
  plan::register_strategy(toys::toy_strategy);
  const char* name = toys::toy_format.name;
  for (const char* behaviour :
       {"what_another_program_added_does_not_disturb",
        "a_file_of_another_program_is_read_not_appended", "a_newer_major_version_is_refused"}) {
    static std::vector<std::string> kept;
    kept.reserve(3);
    kept.push_back(std::string("strangers.") + behaviour);
    declare_unsupported({name, kept.back().c_str(), "the file of the test is HDF5", false});
  }
}

}  // namespace sluice::test
