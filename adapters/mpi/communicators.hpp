#pragma once
/// Communicators of the program, defined when they are made and without communication.
///
/// Every member of a communicator derives the same identity (parent, ordinal, leader) on its own:
/// - Operations that are collective over the parent (dup, split, create, topologies, merge) happen in the same order on
/// all
///   its members: the ordinal counts them, whether or not this rank is in the result.
/// - MPI_Comm_create_group is called by the members of the group only: the ordinal is negative, a hash of the members,
///   the tag and how often these have met before.
/// - MPI_Intercomm_create and communicators with processes outside MPI_COMM_WORLD have two sides with different
/// parents:
///   parent -1, a negative ordinal of the same kind, and of both sides' leaders the lower world rank.
/// `members` of an intercommunicator are the local group, then the remote group.
///
/// Records outlive MPI_Comm_free. Memory: one record per communicator; equal lists of members are kept once in a row.
/// Thread safety: any thread; a lock that no other call takes. Not for handlers.

#include <cstdint>
#include <span>

#include "adapters/mpi/library.hpp"
#include "measurement/definitions.hpp"

namespace refrain::adapters::mpi {

/// MPI_COMM_WORLD and MPI_COMM_SELF. To be called once, after MPI was initialized.
void define_world();

/// After an operation that is collective over `parent`; `made` may be MPI_COMM_NULL here.
void define_child(MPI_Comm parent, MPI_Comm made);
/// A duplicate of `parent` whose handle is not known yet; its id.
std::int32_t define_duplicate(MPI_Comm parent);
void bind_communicator(std::int32_t id, MPI_Comm handle);
void define_of_group(MPI_Comm parent, int tag, MPI_Comm made);
/// No-op when the handle is known already.
void define_by_members(int tag, MPI_Comm made);

void name_communicator(MPI_Comm handle, const char* name);
void forget_handle(MPI_Comm handle);

/// In order of id. Valid until the next MPI call.
std::span<const measurement::CommunicatorRecord> all_communicators();

}  // namespace refrain::adapters::mpi
