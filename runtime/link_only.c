/* A program is linked with this in place of the runtime: a library of the same SONAME that defines nothing. So the
   program needs the runtime and loads it first, but the linker takes every function from where it would take it without
   Refrain. If it saw the runtime's MPI functions, it would drop MPI's own libraries as unneeded (--as-needed), and
   would take no object from an archive, such as one with MPI's Fortran layer. */
