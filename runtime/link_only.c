/* What a program is linked with in place of the runtime: a library of the same SONAME that defines nothing. The program
   needs the runtime, and loads it first, but the linker takes every function from where it would take it without
   Refrain. Were it to see the runtime's MPI functions, MPI's own libraries would seem superfluous to it (--as-needed),
   and the objects of an archive, as MPI's Fortran layer may be one, would not be taken. */
