#pragma once
/// Communicators of the program, defined when they are made and without communication.
///
/// Every member of a communicator derives the same identity (parent, ordinal, leader) on its own:
/// - Operations that are collective over the parent (dup, split, create, topologies, merge) happen in the same order
///   on all its members: the ordinal counts them, whether or not this rank is in the result.
/// - MPI_Comm_create_group is called by the members of the group only: the ordinal is negative, a hash of the members,
///   the tag and how often the same members have made one with exactly this tag before.
/// - A communicator whose parent is not known, for example because Refrain was not there when the parent was made, has
///   such a negative ordinal too.
/// - Intercommunicators of MPI_Intercomm_create, and those with processes outside MPI_COMM_WORLD, have two sides with
///   different parents: parent -1, such a negative ordinal, and of both sides' leaders the lower world rank.
/// `members` of an intercommunicator are the local group, then the remote group.
///
/// Records outlive MPI_Comm_free. A program may make communicators for ever, so communicators of one parent with the
/// same members are told apart 256 times (those that are known by their members 16 times for tags that are equal modulo
/// 64). After that each takes over the record of one from the second half of these, in turn; what is made of such a
/// communicator is not told apart. That depends on nothing but the order in which their members make them, so that all
/// members agree on it.
///
/// Memory: one record per communicator, at most 65,536; equal lists of members are kept once, at most 64 MiB.
/// Thread safety: any thread; under a lock that no other call takes, but for id_of_communicator(). Not for handlers.

#include <cstdint>
#include <span>

#include "adapters/mpi/library.hpp"
#include "measurement/definitions.hpp"

namespace refrain::adapters::mpi {

inline constexpr std::int64_t communicators_told_apart = 256, communicators_of_tag_told_apart = 16;

/// The communicator of all processes, and MPI_COMM_SELF when the former is MPI_COMM_WORLD. To be called whenever MPI
/// has begun: with sessions it may begin again after its end.
void define_world(MPI_Comm world);
/// Before MPI is finalized: gives back what Refrain holds of it. Records stay; no more are made.
void forget_world();

/// The following return false when there is no room for another record, or MPI does not say what was made.

/// After an operation that is collective over `parent`; `made` may be MPI_COMM_NULL here.
bool define_child(MPI_Comm parent, MPI_Comm made);
/// A duplicate of `parent`. Its members are those in the parent's record, as MPI takes long to tell those of a large
/// communicator. Where the parent is not known, MPI is asked if `may_be_asked`: only when `made` is complete.
bool define_duplicate(MPI_Comm parent, MPI_Comm made, bool may_be_asked);
bool define_of_group(MPI_Comm parent, int tag, MPI_Comm made);
bool define_by_members(int tag, MPI_Comm made);
/// The same for one that MPI may show again and again: nothing happens when the handle is known already.
bool define_once(MPI_Comm found);

/// -1: not known. Without a lock.
std::int32_t id_of_communicator(MPI_Comm handle);
/// The identity of a communicator with the group of MPI_COMM_WORLD; 0: of another. Without a lock.
std::uint64_t identity_if_of_all(std::int32_t id);
void name_communicator(MPI_Comm handle, const char* name);
/// The communicator with this handle is about to be freed: its id, -1 when it is not known.
std::int32_t forget_handle(MPI_Comm handle);
/// That communicator was not freed after all.
void bind_communicator(std::int32_t id, MPI_Comm handle);

/// In order of id. They stay where they are; more may come.
std::span<const measurement::CommunicatorRecord> all_communicators();

}  // namespace refrain::adapters::mpi
