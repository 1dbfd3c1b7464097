/* What headers of GCC 11 and later ask of the C++ library and of glibc, made of what both had in 2018
 * (GLIBCXX_3.4.25, CXXABI_1.3.11, glibc 2.28). Linked into manylinux_2_28 wheels alone; names are
 * those of the Itanium ABI. `packaging/wheel.sh` compiles it with all names hidden. */
void _ZSt17__throw_bad_allocv(void);
void _ZNSt15__exception_ptr13exception_ptrC1EPv(void **made, void *exception);
/* The library's: the header's own, which the extension has as well, ends in what is defined here. */
void older_end(void **held);
__asm__(".symver older_end,_ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");

/* glibc 2.32: true in a program without threads, whose counts of owners need not be atomic. */
char __libc_single_threaded = 0;

/* std::__throw_bad_array_new_length: an error of the other kind that vectors know. */
void _ZSt28__throw_bad_array_new_lengthv(void) { _ZSt17__throw_bad_allocv(); }

/* std::exception_ptr: one owner more and one fewer. */
void _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv(void **held) {
  void *another;
  _ZNSt15__exception_ptr13exception_ptrC1EPv(&another, *held);
}

void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void **held) {
  older_end(held);
  *held = 0;
}
