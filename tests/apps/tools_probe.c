/* Stands in for the runtime: appends one line per process image to the file PROBE_OUT: its program, mode and preload
 * list. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
  const char* name = getenv("PROBE_OUT");
  FILE* file = name ? fopen(name, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %s %s\n", program_invocation_short_name, getenv("REFRAIN_INTERNAL_MODE"), getenv("LD_PRELOAD"));
  fclose(file);
}
