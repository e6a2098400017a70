#pragma once
/// A lock for rare and short work: growing a table, defining a communicator, counting a one-sided operation. It is
/// never taken on the path of other calls or in a handler, and never held over a function of the loader: the loader
/// holds a lock of its own while it runs constructors, and these may call MPI.

#include "platform/owned_lock.hpp"

namespace refrain::adapters::mpi {

using Lock = platform::OwnedLock;
using Locked = platform::Locked;

}  // namespace refrain::adapters::mpi
