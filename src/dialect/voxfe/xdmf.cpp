#include "dialect/voxfe/xdmf.hpp"

#include <charconv>

namespace sluice::dialect::voxfe {

namespace {

std::string number(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

/// Escaped as the text of an XML element.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

std::string item(const std::string& file, const char* variable, const std::string& dimensions,
                 const char* type, const char* bytes) {
  return "        <DataItem Format=\"HDF\" NumberType=\"" + std::string(type) + "\" Precision=\"" +
         bytes + "\" Dimensions=\"" + dimensions + "\">" +
         escaped(file.substr(file.rfind('/') + 1)) + ":/" + variable + "</DataItem>\n";
}

std::string document(const char* name, const std::string& body) {
  return "<?xml version=\"1.0\" ?>\n<Xdmf Version=\"2.0\">\n  <Domain>\n    <Grid Name=\"" +
         std::string(name) + "\" GridType=\"Uniform\">\n" + body +
         "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

}  // namespace

std::string voxels_xdmf(const std::string& file, const Grid& grid,
                        const std::array<double, 3>& size) {
  const auto extents = [](const Grid& g, std::uint64_t more) {
    return std::to_string(g[2] + more) + " " + std::to_string(g[1] + more) + " " +
           std::to_string(g[0] + more);
  };
  return document(
      "voxels",
      "      <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"" + extents(grid, 1) +
          "\"/>\n      <Geometry GeometryType=\"Origin_DxDyDz\">\n"
          "        <DataItem Dimensions=\"3\">0 0 0</DataItem>\n"
          "        <DataItem Dimensions=\"3\">" +
          number(size[2]) + " " + number(size[1]) + " " + number(size[0]) +
          "</DataItem>\n      </Geometry>\n"
          "      <Attribute Name=\"material\" AttributeType=\"Scalar\" Center=\"Cell\">\n" +
          item(file, "material", extents(grid, 0), "UChar", "1") + "      </Attribute>\n");
}

std::string nodes_xdmf(const std::string& file, std::uint64_t nodes) {
  const std::string count = std::to_string(nodes);
  return document(
      "nodes",
      "      <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"" + count +
          "\" NodesPerElement=\"1\"/>\n      <Geometry GeometryType=\"X_Y_Z\">\n" +
          item(file, "x", count, "Float", "4") + item(file, "y", count, "Float", "4") +
          item(file, "z", count, "Float", "4") +
          "      </Geometry>\n"
          "      <Attribute Name=\"displacement\" AttributeType=\"Vector\" Center=\"Node\">\n" +
          item(file, "displacement", count + " 3", "Float", "8") + "      </Attribute>\n");
}

}  // namespace sluice::dialect::voxfe
