#pragma once
/// MPI's functions by dlsym(handle), as the bindings of Julia, Rust and Python's ctypes take them: the program gets our
/// wrapper in place of MPI's function.
///
/// So `dlsym` and `dlvsym` are defined here. The next definition (the C library's, or another tool's) is asked first;
/// what it does not find stays unfound, with its dlerror(). Its answer is replaced only where a wrapper has that name
/// and goes on to the same MPI library. So a function of such a name in another object stays that object's own, and
/// profiling names (PMPI_...) are MPI's own.
///
/// With RTLD_NEXT and RTLD_DEFAULT the answer depends on who asks, which the C library reads from the return address:
/// such a call jumps on as it is (x86_64/handle_stubs.cpp). It finds the wrapper in the global scope by itself; what
/// follows it belongs to the tool that asks.
///
/// Refrain's own look-ups do not come here (platform/symbols.hpp).
///
/// Thread safety: any thread, at any time, also before the constructors of this library. Not for handlers.
