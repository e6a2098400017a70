/* Marks for the main loop of a program, its iterations, and regions of interest.

     #include <refrain/refrain.h>
     REFRAIN_LOOP_BEGIN("timestep");
     for (int t = 0; t < steps; ++t) {
       REFRAIN_ITERATION_BEGIN();
       step(t);
       REFRAIN_ITERATION_END();
     }
     REFRAIN_LOOP_END();

   There is nothing to link: the program builds and runs without Refrain, and a mark then costs a load and a branch.
   Names are string literals. Begin and end of a mark belong in one function. The outermost loop of a thread is cut into
   iterations; loops inside it become regions. Marks are per thread. Before glibc 2.34 a program that is linked with
   -no-pie needs -ldl for its marks to be seen. For Fortran there are refrain.f90 and refrain_fortran.h.

   C++ also has scope objects, which end with their scope, even when it is left by an exception:
     refrain::Loop loop("timestep");  refrain::Iteration iteration;  refrain::Region region("solve"); */
#ifndef REFRAIN_REFRAIN_H
#define REFRAIN_REFRAIN_H

#define REFRAIN_VERSION_MAJOR 0
#define REFRAIN_VERSION_MINOR 1
#define REFRAIN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The table that a measuring runtime defines as the dynamic symbol refrain_marks_v1. */
struct refrain_marks_v1 {
  void (*loop_begin)(unsigned* name_id, const char* name);
  void (*loop_end)(void);
  void (*iteration_begin)(void);
  void (*iteration_end)(void);
  void (*region_begin)(unsigned* name_id, const char* name);
  void (*region_end)(const char* name); /* "" ends the innermost one */
};

/* dlsym under a name of our own: <dlfcn.h> declares what is needed here only with a feature macro, and libraries older
   than glibc 2.34 keep it in libdl, which the program need not link. */
#if defined(__ELF__) && defined(__GNUC__)
extern void* refrain_find_symbol_(void*, const char*) __asm__("dlsym") __attribute__((weak));

static inline const struct refrain_marks_v1* refrain_marks_(void) {
#define REFRAIN_NOT_LOOKED_ ((const struct refrain_marks_v1*)1)
  static const struct refrain_marks_v1* kept = REFRAIN_NOT_LOOKED_;
  const struct refrain_marks_v1* marks = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  if (__builtin_expect(!marks, 1)) return marks; /* the one branch of a mark without Refrain */
  if (__builtin_expect(marks == REFRAIN_NOT_LOOKED_, 0)) {
    void* found = refrain_find_symbol_ ? refrain_find_symbol_((void*)0, "refrain_marks_v1") : (void*)0;
    marks = (const struct refrain_marks_v1*)found;
    __atomic_store_n(&kept, marks, __ATOMIC_RELAXED);
  }
#undef REFRAIN_NOT_LOOKED_
  return marks;
}
#else
static inline const struct refrain_marks_v1* refrain_marks_(void) { return (const struct refrain_marks_v1*)0; }
#endif

#ifdef __cplusplus
}
#endif

#define REFRAIN_MARK_(call)                                       \
  do {                                                            \
    const struct refrain_marks_v1* refrain_m_ = refrain_marks_(); \
    if (refrain_m_) refrain_m_->call;                             \
  } while (0)
#define REFRAIN_NAMED_MARK_(begin, name)                          \
  do {                                                            \
    static unsigned refrain_id_;                                  \
    const struct refrain_marks_v1* refrain_m_ = refrain_marks_(); \
    if (refrain_m_) refrain_m_->begin(&refrain_id_, "" name);     \
  } while (0)

#define REFRAIN_LOOP_BEGIN(name) REFRAIN_NAMED_MARK_(loop_begin, name)
#define REFRAIN_LOOP_END() REFRAIN_MARK_(loop_end())
#define REFRAIN_ITERATION_BEGIN() REFRAIN_MARK_(iteration_begin())
#define REFRAIN_ITERATION_END() REFRAIN_MARK_(iteration_end())
#define REFRAIN_REGION_BEGIN(name) REFRAIN_NAMED_MARK_(region_begin, name)
/* Takes the name of the region; without a name it ends the innermost one. */
#define REFRAIN_REGION_END(...) REFRAIN_MARK_(region_end("" __VA_ARGS__))

#ifdef __cplusplus
namespace refrain {

/* Names of scope objects need not be literals; they are looked up each time. */
class Loop {
 public:
  [[gnu::always_inline]] explicit Loop(const char* name) : marks_(refrain_marks_()) {
    unsigned id = 0;
    if (marks_) marks_->loop_begin(&id, name);
  }
  [[gnu::always_inline]] ~Loop() {
    if (marks_) marks_->loop_end();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

 private:
  const refrain_marks_v1* marks_;
};

class Iteration {
 public:
  [[gnu::always_inline]] Iteration() : marks_(refrain_marks_()) {
    if (marks_) marks_->iteration_begin();
  }
  [[gnu::always_inline]] ~Iteration() {
    if (marks_) marks_->iteration_end();
  }
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

 private:
  const refrain_marks_v1* marks_;
};

class Region {
 public:
  [[gnu::always_inline]] explicit Region(const char* name) : marks_(refrain_marks_()) {
    unsigned id = 0;
    if (marks_) marks_->region_begin(&id, name);
  }
  [[gnu::always_inline]] ~Region() {
    if (marks_) marks_->region_end("");
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  const refrain_marks_v1* marks_;
};

}  // namespace refrain
#endif

#endif
