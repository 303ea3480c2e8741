// Lines of text as gfortran's formatted output writes them: the expected texts are its own.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "dialect/lines/template.hpp"
#include "sluice/error.hpp"

namespace sluice {
namespace {

using namespace dialect::lines;

Template of_format(const std::string& format, const std::string& field) {
  return parse_template("files %d.x\n" + format + " " + field + "\n");
}

std::string written(const std::string& format, const std::vector<double>& values) {
  const std::string count = std::to_string(values.size());
  const Template all = of_format("(" + count + format + ")", "x:float64(" + count + ")");
  std::vector<Scalar> scalars;
  for (const double value : values) {
    scalars.push_back({0, value});
  }
  std::string text;
  append_line(all.lines[0], scalars, text);
  return text;
}

const std::vector<double> some = {0,          -0.0,  1,      -1.5,      0.05, -0.000001,
                                  123456.789, 1e100, 1e-100, 9.9999999, 2.5,  -0.4};

TEST(Lines, FixedPointIsFortrans) {
  EXPECT_EQ(written("f9.3", some),
            "    0.000   -0.000    1.000   -1.500    0.050   -0.000******************    0.000   "
            "10.000    2.500   -0.400\n");
  EXPECT_EQ(written("f5.3", some),
            "0.000-.0001.000*****0.050-.000**********0.000*****2.500-.400\n");
  EXPECT_EQ(written("f4.0", some), "  0. -0.  1. -2.  0. -0.********  0. 10.  2. -0.\n");
}

TEST(Lines, ScientificIsFortrans) {
  EXPECT_EQ(written("es12.4", some),
            "  0.0000E+00 -0.0000E+00  1.0000E+00 -1.5000E+00  5.0000E-02 -1.0000E-06  "
            "1.2346E+05  1.0000+100  1.0000-100  1.0000E+01  2.5000E+00 -4.0000E-01\n");
  EXPECT_EQ(written("es12.4e3", some),
            " 0.0000E+000-0.0000E+000 1.0000E+000-1.5000E+000 5.0000E-002-1.0000E-006 "
            "1.2346E+005 1.0000E+100 1.0000E-100 1.0000E+001 2.5000E+000-4.0000E-001\n");
}

TEST(Lines, NotFiniteIsFortrans) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> all = {nan, infinity, -infinity};
  EXPECT_EQ(written("f3.0", all), "NaNInf***\n");
  EXPECT_EQ(written("f4.0", all), " NaN Inf-Inf\n");
  EXPECT_EQ(written("f8.1", all), "     NaNInfinity    -Inf\n");
  EXPECT_EQ(written("f9.1", all), "      NaN Infinity-Infinity\n");
}

TEST(Lines, ReadsWhatItWrites) {
  const Template all =
      of_format("('a',2x,i5,es25.16e3,f12.3,es12.4)", "i:int32 x:float64 y:float32 z:float64");
  const std::vector<Scalar> values = {{-17, 0}, {0, 0.1 + 0.2}, {0, -2.5}, {0, 1e-100}};
  std::string text;
  append_line(all.lines[0], values, text);
  EXPECT_EQ(text, "a    -17  3.0000000000000004E-001      -2.500  1.0000-100\n");
  text.pop_back();
  std::vector<Scalar> read;
  parse_line(all.lines[0], text, read);
  ASSERT_EQ(read.size(), values.size());
  EXPECT_EQ(read[0].integer, -17);
  for (std::size_t i = 1; i < values.size(); ++i) {
    EXPECT_EQ(read[i].real, values[i].real) << i;
  }
}

TEST(Lines, RefusesLinesThatAreNone) {
  const Template all = of_format("(i4,f6.2)", "i:int32 x:float64");
  std::vector<Scalar> read;
  for (const char* text : {"   1  2.50 ", "   1  2.5", "****  2.50", "   1******",
                           "    	  2.50", "  1x  2.50", "   1  2,50"}) {
    EXPECT_THROW(parse_line(all.lines[0], text, read), Error) << text;
  }
}

TEST(Lines, WalksWhatBelongsTogether) {
  const Template all =
      parse_template("files %d.x\n(i3) n:int32\n*(i3) m:int32\n**(i3) id:int32\n(i3) last:int32\n");
  std::string seen;
  const std::vector<std::int64_t> numbers = {2, 1, 7, 0, 9};
  std::size_t at = 0;
  walk(all, [&](const Line& line) {
    seen += line.fields[0].name + " ";
    return numbers[at++];
  });
  EXPECT_EQ(seen, "n m id m last ");
  EXPECT_THROW(walk(all, [](const Line&) { return std::int64_t{-1}; }), Error);
  EXPECT_EQ(all.name_of(0), "1.x");
}

TEST(Lines, RefusesTemplatesThatAreNone) {
  for (const char* text :
       {"", "files x\n(i3) n:int32\n", "files a/%d\n(i3) n:int32\n", "files %d\n",
        "files %d\n(i3) n:float64\n", "files %d\n(f3.1) n:int32\n", "files %d\n(i3,i3) n:int32\n",
        "files %d\n(i3) n:int32(2)\n", "files %d\n(i0) n:int32\n", "files %d\n(i3 n:int32\n",
        "files %d\n(i3) n:text\n", "files %d\n(99999i3) n:int32\n", "files %d\n(i3) n\n",
        "files %d\n*(i3) n:int32\n", "files %d\n(f5.1) x:float64\n*(i3) n:int32\n",
        "files %d\n(i3) n:int32\n**(i3) m:int32\n", "files %d\n(i3) n:int32 m:int32(0)\n"}) {
    EXPECT_THROW(parse_template(text), Error) << text;
  }
}

}  // namespace
}  // namespace sluice
