/* A library of the program: its destructors run after those of what was preloaded. */
void (*late_ending)(void);

__attribute__((destructor)) static void at_the_end(void) {
  if (late_ending) late_ending();
}
