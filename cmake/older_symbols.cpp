// Binds two functions to the version that older systems have, too: the newest one would make the
// wheel need glibc 2.35 and the libstdc++ of GCC 12, which RHEL 9 and its likes lack. The linker
// sends every call here (--wrap, in WheelSymbols.cmake). The older versions do the same; that of
// wait() may throw.
extern "C" {

double sluice_older_hypot(double x, double y);
void sluice_older_wait(void* condition, void* lock);

__asm__(".symver sluice_older_hypot, hypot@GLIBC_2.2.5");
__asm__(
    ".symver sluice_older_wait, "
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

double __wrap_hypot(double x, double y) { return sluice_older_hypot(x, y); }
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, void* lock) {
  sluice_older_wait(condition, lock);
}
}
