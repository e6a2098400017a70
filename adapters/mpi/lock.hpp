#pragma once
/// A lock for rare and short work: growing a table, defining a communicator, counting a one-sided operation. Never on
/// the path of other calls, never in a handler; and never over a function of the loader, which has a lock of its own
/// that is held while constructors run: these may call MPI.

#include "platform/owned_lock.hpp"

namespace refrain::adapters::mpi {

using Lock = platform::OwnedLock;
using Locked = platform::Locked;

}  // namespace refrain::adapters::mpi
