// contended: a file system that behaves like a striped parallel one. See README.md.
#include "mount.hpp"

int main(int argc, char** argv) {
  return sluice::contended::serve(sluice::contended::parse(argc, argv));
}
