#pragma once
/// Makes dlsym(handle) return our wrapper in place of MPI's function. The bindings of Julia, Rust and Python's ctypes
/// look MPI's functions up that way.
///
/// So `dlsym` and `dlvsym` are defined here. They ask the next definition (the C library's, or another tool's) first;
/// what it does not find stays unfound, with its dlerror(). Its answer is replaced only if a wrapper has that name and
/// leads to the same MPI library. So a function of such a name in another object stays that object's own, and profiling
/// names (PMPI_...) stay MPI's own.
///
/// With RTLD_NEXT and RTLD_DEFAULT the answer depends on the caller, which the C library finds by the return address.
/// So such a call jumps on unchanged (x86_64/handle_stubs.cpp). It finds the wrapper in the global scope by itself; the
/// definitions behind the wrapper belong to the tool that asks.
///
/// Refrain's own look-ups do not come here (platform/symbols.hpp).
///
/// Thread safety: any thread, at any time, even before the constructors of this library have run. Not for handlers.
