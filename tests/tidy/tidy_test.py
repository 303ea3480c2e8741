"""The rules' own tests: each rule finds what is planted, and leaves alone what is in order."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cpp  # noqa: E402
from rules import RULES  # noqa: E402
from tree import File, Tree, read_tree, slug  # noqa: E402


def findings(rule, files, built=None):
    tree = Tree([File(path, text) for path, text in files.items()], built)
    return [f"{f.path}:{f.line}: {f.message}" for f in RULES[rule](tree)]


def fill(lines):
    return "  work();\n" * lines


class Blank(unittest.TestCase):
    def check(self, text, expected):
        self.assertEqual(cpp.blank(text), expected)
        self.assertEqual(len(text), len(expected))

    def test_comments_and_literals(self):
        self.check('a = "{ // }"; // {\nb', 'a = "      ";     \nb')
        self.check("c = '{'; d = '\\''; /* {\n{ */ e", "c = ' '; d = '  ';     \n     e")

    def test_digit_separator_is_no_character(self):
        self.check("x = 1'000'000; y = '{';", "x = 1'000'000; y = ' ';")

    def test_raw_string(self):
        self.check('f(R"({"})"); {', 'f("      "); {')
        self.check('R"x()")x" }', '"       " }')

    def test_directives(self):
        self.check("#define A { \\\n  {\nb", "             \n   \nb")

    def test_quote_in_comment(self):
        self.check("// don't\nf('a');", "        \nf(' ');")


class Includes(unittest.TestCase):
    def test_paths_and_lines(self):
        text = '// x\n#include <vector>\n  #  include "model/box.hpp"  // y\n/* #include "no" */\n'
        found = [(i.line, i.path, i.angled) for i in cpp.includes(text)]
        self.assertEqual(found, [(2, "vector", True), (3, "model/box.hpp", False)])


class Functions(unittest.TestCase):
    def check(self, text, expected):
        found = sorted(cpp.functions(text), key=lambda f: f.first_line)
        self.assertEqual([(f.name, f.first_line, f.last_line) for f in found], expected)

    def test_free_member_and_template(self):
        self.check("int f() { return 1; }\n", [("f", 1, 1)])
        self.check("namespace a {\n\n// doc\nvoid A::f(\n    int x) const {\n  g();\n}\n}\n",
                   [("A::f", 4, 7)])
        self.check("template <class T, class U = std::vector<T>>\nT f(U u) noexcept {\n}\n",
                   [("f", 1, 3)])
        self.check("class A : public B<int()> {\n public:\n  // doc\n  A() {\n  }\n  ~A() {}\n};\n",
                   [("A", 4, 5), ("~A", 6, 6)])

    def test_initialiser_list(self):
        self.check("A::A(int a)\n    : a_{a}, b_(a), c_{{1, 2}} {\n}\nint g() {\n}\n",
                   [("A::A", 1, 3), ("g", 4, 5)])

    def test_what_is_no_function(self):
        self.check("constexpr int k[2] = {{1}, {f(2)}};\nenum class E : int { a, b };\n"
                   "struct S {\n  std::vector<int> v{};\n  int w = f({1});\n};\n"
                   "const std::map<int, F> m = {\n    {1, [](int x) {\n  return x;\n}}};\n", [])

    def test_nested_braces_belong_to_the_outermost(self):
        self.check("void f() {\n  for (;;) {\n    if (a) {\n    }\n  }\n  auto g = [] {\n  };\n}\n",
                   [("f", 1, 8)])

    def test_operators_trailing_types_attributes(self):
        self.check("bool operator()(int a) const {\n}\n", [("operator()", 1, 2)])
        self.check("bool A::operator==(const A& b) {\n}\n", [("A::operator==", 1, 2)])
        self.check("[[nodiscard]] auto f(int x) -> std::vector<int> {\n}\n", [("f", 1, 2)])
        self.check("struct alignas(64) A {\n  int f() { return 0; }\n};\n", [("f", 2, 2)])
        self.check("struct stat f(int a) {\n}\n", [("f", 1, 2)])
        self.check('extern "C" {\nint f(void) {\n}\n}\n', [("f", 2, 3)])

    def test_lambda_at_file_level_and_test_macros(self):
        self.check("const auto f = [](int x) {\n  return x;\n};\n", [("?", 1, 3)])
        self.check("TEST(Box, Intersects) {\n  a();\n}\nTEST(B, C) {\n}\n",
                   [("TEST", 1, 3), ("TEST", 4, 5)])

    def test_requires(self):
        self.check("template <class T>\nconcept C = requires(T a) { a + 1; };\nint f() {\n}\n",
                   [("f", 3, 4)])
        self.check("template <class T>\n  requires(g(T) == 4)\nstruct A {\n  void f() {}\n};\n",
                   [("f", 4, 4)])

    def test_unbalanced(self):
        for text in ("void f() {\n", "}\n"):
            with self.assertRaises(cpp.Unreadable):
                cpp.functions(text)


class Imports(unittest.TestCase):
    def check(self, path, include, bad):
        found = findings("imports", {path: f"#include {include}\n"})
        self.assertEqual(bool(found), bad, f"{path} includes {include}: {found}")

    def test_direction(self):
        order = ["model", "layout", "plan", "exec", "commit", "api"]
        for i, low in enumerate(order):
            for high in order[i:]:
                self.check(f"src/{high}/a.cpp", f'"{low}/b.hpp"', False)
                self.check(f"src/{low}/a.cpp", f'"{high}/b.hpp"', low != high)

    def test_leaves(self):
        for leaf in ("storage", "codec"):
            for component in ("layout", "exec", "commit"):
                self.check(f"src/{component}/hdf5/a.cpp", f'"{leaf}/b.hpp"', False)
                self.check(f"src/{leaf}/a.cpp", f'"{component}/b.hpp"', True)
            self.check(f"src/plan/a.cpp", f'"{leaf}/b.hpp"', True)
        self.check("src/storage/a.cpp", '"model/b.hpp"', False)
        self.check("src/model/a.cpp", '"storage/b.hpp"', True)
        self.check("src/codec/a.cpp", '"model/b.hpp"', True)

    def test_levels(self):
        for path, include, bad in (
                ("exec/write/a.cpp", "exec/transport/b.hpp", False),
                ("exec/transport/a.cpp", "exec/write/b.hpp", True),
                ("exec/write/a.cpp", "exec/write/b.hpp", False),
                ("exec/write/a.cpp", "exec/rows/b.hpp", True),
                ("exec/write/a.cpp", "exec/b.hpp", False),
                ("exec/a.cpp", "exec/write/b.hpp", True),
                ("exec/new/a.cpp", "exec/transport/b.hpp", True),
                ("layout/hdf5/a.cpp", "layout/netcdf4/b.hpp", False),
                ("layout/netcdf4/a.cpp", "layout/hdf5/b.hpp", True),
                ("layout/netcdf4/a.cpp", "layout/b.hpp", True),
                ("layout/zarr/a.cpp", "layout/hdf5/b.hpp", True),
                ("layout/icechunk/a.cpp", "layout/zarr/b.hpp", False),
                ("layout/a.cpp", "layout/formats/b.hpp", True),
                ("layout/formats/a.cpp", "layout/hdf5/b.hpp", False),
                ("commit/a.cpp", "commit/tools/b.hpp", False),
                ("api/c/a.cpp", "api/b.hpp", False)):
            self.check(f"src/{path}", f'"{include}"', bad)

    def test_dialect(self):
        for component, bad in (("model", False), ("storage", False), ("exec", False),
                          ("layout", True), ("plan", True), ("api", True)):
            self.check("src/dialect/vampire/a.cpp", f'"{component}/b.hpp"', bad)
            self.check(f"src/{component}/a.cpp", '"dialect/b.hpp"', True)

    def test_public_face(self):
        for header in ("error", "types", "options"):
            self.check("src/model/a.cpp", f'"sluice/{header}.hpp"', False)
        for header in ("sluice.hpp", "sluice.h", "file.hpp"):
            self.check("src/commit/a.cpp", f'"sluice/{header}"', True)
            self.check("src/commit/a.cpp", f"<sluice/{header}>", True)
            self.check("src/api/a.cpp", f'"sluice/{header}"', False)
        self.check("include/sluice/sluice.hpp", '"sluice/error.hpp"', False)
        self.check("include/sluice/sluice.hpp", '"model/box.hpp"', True)
        self.check("include/sluice/sluice.hpp", "<mpi.h>", False)

    def test_paths_and_components(self):
        self.check("src/model/a.cpp", '"box.hpp"', True)
        self.check("src/model/a.cpp", '"cli/verb.hpp"', True)
        self.check("src/model/a.cpp", "<vector>", False)
        self.check("cli/a.cpp", '"exec/b.hpp"', False)
        self.check("src/odd/a.cpp", "<vector>", True)
        self.check("src/a.cpp", "<vector>", True)

    def test_mpi(self):
        self.check("src/mpi/a.hpp", "<mpi.h>", False)
        self.check("src/exec/a.cpp", "<mpi.h>", True)
        self.check("src/plan/a.cpp", "<mpi.h>", True)


class Cycles(unittest.TestCase):
    FILES = {"src/layout/a.hpp": "", "src/layout/b.hpp": '#include "layout/a.hpp"\n',
             "src/layout/b.cpp": '#include "layout/b.hpp"\n'}

    def test_planted(self):
        for path in ("src/layout/a.hpp", "src/layout/a.cpp"):
            found = findings("cycles", {**self.FILES, path: '\n#include "layout/b.hpp"\n'})
            self.assertEqual(
                found, [f"{path}:2: a circle of includes: layout/a -> layout/b -> layout/a"])
        longer = {"src/plan/a.hpp": '#include "plan/b.hpp"\n',
                  "src/plan/b.cpp": '#include "plan/c.hpp"\n', "src/plan/b.hpp": "",
                  "src/plan/c.hpp": '#include "plan/a.hpp"\n'}
        self.assertEqual(len(findings("cycles", longer)), 1)
        in_folder = {"src/commit/tools/a.hpp": '#include "commit/tools/b.hpp"\n',
                     "src/commit/tools/b.hpp": '#include "commit/tools/a.hpp"\n'}
        self.assertEqual(len(findings("cycles", in_folder)), 1)

    def test_in_order(self):
        self.assertEqual(findings("cycles", self.FILES), [])
        outside = {"cli/a.hpp": '#include "cli/b.hpp"\n', "cli/b.hpp": '#include "cli/a.hpp"\n'}
        self.assertEqual(findings("cycles", outside), [])


class SystemIo(unittest.TestCase):
    def check(self, code, bad, path="src/exec/a.cpp"):
        found = findings("system-io", {path: code + "\n"})
        self.assertEqual(len(found), bad, f"{code}: {found}")

    def test_planted(self):
        for code in ("pwrite(fd, p, n, 0);", "::pread(fd, p, n, 0);", "if (fsync(fd)) {",
                     "::open(p, 0);",
                     "return ::close(fd);", 'std::fopen("x", "r");', "std::ofstream out(path);",
                     "std::rename(a.c_str(), b.c_str());", "std::remove(path.c_str());",
                     "std::filesystem::remove(p);", "namespace fs = std::filesystem;",
                     "int f = O_CREAT;", "FILE* f;", "MPI_File_open(c, p, 0, i, &f);",
                     "#include <fstream>", "#include <fcntl.h>", "::rename(a, b);",
                     "x = ::stat(p, &s);",
                     "H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);"):
            self.check(code, 1)

    def test_in_order(self):
        for code in ("file->write(0, bytes);", "storage.open(path, Access::read);", "// pwrite(fd)",
                     'say("fsync(fd)");', "file.pwrite(1);", "void File::rename(int a);",
                     "v.erase(std::remove(v.begin(), v.end(), 3), v.end());",
                     "std::filesystem::path p;", "read(bytes);", "#include <cstdio>",
                     "std::fprintf(stderr, text);", "my_fsync(fd);", "storage::open(path);",
                     "H5Fopen(path, H5F_ACC_RDONLY, fapl);",
                     "H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);"):
            self.check(code, 0)

    def test_only_in_src_outside_storage(self):
        for path in ("src/storage/posix.cpp", "tests/a_test.cpp", "cli/a.cpp", "bench/a.cpp"):
            self.check("pwrite(fd, p, n, 0);", 0, path)


class Rows(unittest.TestCase):
    ROWS = {"src/layout/npy/format.cpp": 'x{\n    .name = "npy",\n};',
            "src/plan/groups.cpp": 'const char* per_node = "file-per-node";\n.name = per_node,',
            "src/codec/zstd.cpp": 'return Method{"zstd", 1};'}

    def test_planted(self):
        for name in ("npy", "file-per-node", "zstd"):
            for path in ("src/commit/a.cpp", "src/layout/formats/a.cpp",
                         "src/layout/a.cpp", "src/api/a.hpp"):
                self.assertEqual(findings("rows", {**self.ROWS, path: f'\nf("{name}");'}),
                                 [f"{path}:2: names {name}: ask its row"])

    def test_in_order(self):
        for path, code in (("src/layout/npy/a.cpp", 'f("npy");'), ("cli/a.cpp", 'f("npy");'),
                           ("src/api/a.cpp", '// "npy"'), ("src/api/a.cpp", 'f("npy: no");'),
                           ("src/api/a.cpp", 'f("auto"); f("other");')):
            self.assertEqual(findings("rows", {**self.ROWS, path: code}), [])


class Tags(unittest.TestCase):
    def test_planted(self):
        for line in ("constexpr int read_tag = 302;", "const Tag tag{302};",
                     "transport_.send(rank, 302, bytes);", "own->start_receive(0, 302, into);",
                     "auto come = transport.start_receive_any(302);"):
            with self.subTest(line):
                self.assertEqual(findings("tags", {"src/exec/a.cpp": f"\n{line}\n"}),
                                 ["src/exec/a.cpp:2: tag 302 by its number: give it a name in "
                                  "src/exec/transport/tags.hpp"])

    def test_in_order(self):
        text = ("network_.send({rank, 3, node}, now_s);\n// tag = 302\nint user_tag_ = 0;\n"
                "transport_.send(rank, window_tag, bytes);\nf(tag, 3);\n")
        self.assertEqual(findings("tags", {"src/exec/a.cpp": text,
                                           "src/exec/transport/tags.hpp": "a_tag = 1\n",
                                           "tests/exec/b.cpp": "int a_tag = 1;"}), [])


class Lengths(unittest.TestCase):
    def test_file(self):
        self.assertEqual(findings("file-length", {"a.cpp": "x\n" * 500, "b.md": "x\n" * 501}), [])
        self.assertEqual(findings("file-length", {"a.cpp": "x\n" * 501}),
                         ["a.cpp:501: 501 lines, at most 500"])

    def test_file_of_the_public_face(self):
        code = "int x;\n" * 500
        self.assertEqual(findings("file-length", {"include/a.h": "/* a\n b */\n" + code}), [])
        self.assertEqual(len(findings("file-length", {"src/a.h": "/* a\n b */\n" + code})), 1)
        self.assertEqual(len(findings("file-length", {"include/a.h": "int y; // a\n" + code})), 1)
        code = "x = 1\n" * 499
        self.assertEqual(findings("file-length", {"fortran/a.f90": "! a\n  !> b\n" + code}), [])
        text = '"""A.\n\nB."""\ndef f():\n    """C.\n\n    D."""\n'
        self.assertEqual(findings("file-length", {"python/sluice/a.py": text + code}), [])
        self.assertEqual(len(findings("file-length", {"python/sluice/a.py": text + code * 2})), 1)

    def test_line(self):
        files = {"a.cpp": "x" * 100 + "\n" + "é" * 100, "b.md": "x" * 200}
        self.assertEqual(findings("line-length", files), [])
        for path in ("a.hpp", "b.py", "CMakeLists.txt", "c.sh", "d.cmake"):
            self.assertEqual(findings("line-length", {path: "\n" + "x" * 101}),
                             [f"{path}:2: 101 characters, at most 100"])
        self.assertEqual(len(findings("line-length", {"dev": "#!/bin/sh\n" + "x" * 101})), 1)

    def test_cpp_function(self):
        good = "// doc\nvoid f() {\n" + fill(58) + "}\n"
        self.assertEqual(findings("function-length", {"a.cpp": good}), [])
        bad = "// doc\nvoid f() {\n" + fill(59) + "}\n"
        self.assertEqual(findings("function-length", {"a.cpp": bad}),
                         ["a.cpp:2: f() has 61 lines, at most 60"])

    def test_python_function(self):
        for lines, bad in ((59, 0), (60, 1)):
            text = "def f():\n" + "    x = 1\n" * lines
            self.assertEqual(len(findings("function-length", {"a.py": text})), bad)
        self.assertIn("cannot be read", findings("function-length", {"a.py": "def f(:\n"})[0])

    def test_bash_function(self):
        for lines, bad in ((58, 0), (59, 1)):
            text = "#!/bin/bash\nf() {\n" + fill(lines) + "}\n\ng() {\n  :\n}\n"
            self.assertEqual(len(findings("function-length", {"dev": text})), bad)


class ClassSize(unittest.TestCase):
    CODE = """
struct A {
  using Names = std::map<std::string, int>;
  enum class Kind : int { first, second };
  struct Inner { int a, b; };
  A(const A&) = delete;
  explicit A(int n) : n_{n}, m_{0} {}
  template <class T>
  bool operator()(T&& t) const { return t.f(); }
  virtual std::function<void(int)> f(int x = g(1)) const = 0;
 private:
  static constexpr int limit = 3;
  std::function<void(int)> call_;
  std::vector<int> list_{1, 2};
  struct Pair { int x; } pair_{};
  int n_ = f(2);
};
"""

    def test_counts(self):
        found = {c.name: (c.fields, c.functions) for c in cpp.classes(self.CODE)}
        self.assertEqual(found, {"A": (4, 3), "Inner": (1, 0), "Pair": (1, 0)})

    def test_planted(self):
        fields = "".join(f"  int a{n}_ = 0;\n" for n in range(21))
        functions = "".join(f"  void f{n}();\n" for n in range(31))
        for members in (fields, functions):
            large = f"// Invariants: none.\n\n/// Does it.\nstruct B {{\n{members}}};\n"
            for text, is_found in (
                (large, True),
                (large.replace("Does it.", "Does it.\n/// Size: a table."), False),
                (large.replace("Invariants: none.", "Size: a table."), False),
                (large.replace(members, members[members.index("\n") + 1 :]), False),
            ):
                found = findings("class-size", {"src/model/b.hpp": text})
                self.assertEqual(len(found), 1 if is_found else 0, text)


class DeadFiles(unittest.TestCase):
    def test_headers(self):
        own = {"src/model/a.hpp": "", "src/model/a.cpp": '#include "model/a.hpp"\n'}
        self.assertEqual(findings("dead-files", own),
                         ["src/model/a.hpp:1: no other file includes it"])
        own["tests/model/a_test.cpp"] = '#include "model/a.hpp"\n'
        built = {path for path in own if path.endswith(".cpp")}
        self.assertEqual(findings("dead-files", own, built), [])
        near = {"apps/x/a.hpp": "", "apps/x/b.cpp": '#include "a.hpp"\n'}
        self.assertEqual(findings("dead-files", near, {"apps/x/b.cpp"}), [])
        support = {"tests/support/a.hpp": "", "tests/b_test.cpp": '#include "support/a.hpp"\n'}
        self.assertEqual(findings("dead-files", support, {"tests/b_test.cpp"}), [])
        self.assertEqual(findings("dead-files", {"include/sluice/sluice.hpp": ""}), [])

    def test_sources(self):
        files = {"src/model/a.cpp": "", "tests/model/b_test.cpp": ""}
        self.assertEqual(findings("dead-files", files, {"src/model/a.cpp"}),
                         ["tests/model/b_test.cpp:1: nothing compiles it"])
        files["tests/CMakeLists.txt"] = "sluice_test(model/b)\n"
        self.assertEqual(findings("dead-files", files), [])
        bench = {"bench/a.cpp": "", "bench/ab.cpp": "", "bench/CMakeLists.txt": "add(ab.cpp)\n"}
        self.assertEqual(findings("dead-files", bench, set()),
                         ["bench/a.cpp:1: nothing compiles it"])
        bench = {"tests/bench/a_test.cpp": "", "bench/CMakeLists.txt": "x(tests/bench/a_test.cpp)"}
        self.assertEqual(findings("dead-files", bench, set()), [])


class Text(unittest.TestCase):
    def test_planted(self):
        places = ("/" + "work/main/x", "in /" + "root/.cache/", '"/' + 'home/me/x"',
                  "/" + "tmp/sl/x", "cd /" + "Users/me")
        for text in ("a TO" + "DO: b", "// FIX" + "ME") + places:
            self.assertEqual(len(findings("text", {"docs/a.md": text})), 1, text)

    def test_in_order(self):
        for text in ("a/" + "work/b", "../" + "work/b", "mastodon", "/tmp/x",
                     "https://a.org/" + "home/b/c"):
            self.assertEqual(findings("text", {"docs/a.md": text}), [], text)


class Links(unittest.TestCase):
    def test_links(self):
        files = {
            "README.md": "# A `b`: c\n[x](docs/a.md) [y](docs) [z](#a-b-c) [w](https://a.org/x)\n",
            "docs/a.md": "[up](../README.md#a-b-c)\n`[code](no)`\n```\n[code](no)\n```\n",
        }
        self.assertEqual(findings("links", files), [])
        files["docs/a.md"] = "\n[a](b.md) ![p](p.png) [h](../README.md#no)\n"
        self.assertEqual(findings("links", files), [
            "docs/a.md:2: no such file: b.md",
            "docs/a.md:2: no such file: p.png",
            "docs/a.md:2: no such heading: ../README.md#no",
        ])

    def test_slug(self):
        self.assertEqual(slug("The `dev` way: 1 & [2](x)"), "the-dev-way-1--2")


class Headings(unittest.TestCase):
    def test_levels(self):
        files = {"a.md": "# A\n## B\n```\n#### no\n```\n### C\n## D\n", "b.md": "no heading\n"}
        self.assertEqual(findings("headings", files), [])
        files = {"a.md": "## A\n### B\n", "b.md": "# A\n### B\n#### C\n"}
        self.assertEqual(findings("headings", files), [
            "a.md:1: level 2 below level 0",
            "b.md:2: level 3 below level 1",
        ])


class PythonNames(unittest.TestCase):
    def test_undefined(self):
        files = {"a.py": "import os\n\n\ndef f(x):\n    return g(x)\n\n\ndef g(y):\n    return y\n",
                 "package.py": "from spack.package import *\n\nversion(1)\n"}
        self.assertEqual(findings("python-names", files), [])
        files["a.py"] += "\n\ndef h():\n    return _g(1)\n"
        self.assertEqual(findings("python-names", files), ["a.py:13: undefined name '_g'"])


class WholeTree(unittest.TestCase):
    def test_this_folder_is_read_and_in_order(self):
        root = Path(__file__).resolve().parents[2]
        tree = read_tree(root)
        self.assertIn("tests/tidy/tidy_test.py", tree.files)
        self.assertIn("dev", tree.files)
        own = [f for name in RULES for f in RULES[name](tree) if f.path.startswith("tests/tidy/")]
        self.assertEqual(own, [])


if __name__ == "__main__":
    unittest.main()
