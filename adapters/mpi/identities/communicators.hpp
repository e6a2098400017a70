#pragma once
/// The program's communicators. They are defined when they are made, without communication.
///
/// Every member of a communicator derives the same identity (parent, ordinal, leader) on its own:
/// - Operations that are collective over the parent (dup, split, create, topologies, merge) happen in the same order
///   on all its members: the ordinal counts them, whether or not this rank is in the result.
/// - MPI_Comm_create_group is called by the members of the group only: the ordinal is negative, a hash of the members,
///   of the tag, and of how often the same members have made one with exactly this tag before.
/// - A communicator whose parent is unknown, for example because Refrain was not there when the parent was made, has
///   such a negative ordinal, too.
/// - Intercommunicators of MPI_Intercomm_create, and those with processes outside MPI_COMM_WORLD, have two sides with
///   different parents: parent -1, such a negative ordinal, and the lower world rank of the two sides' leaders.
/// `members` of an intercommunicator are the local group, then the remote group.
///
/// Records outlive MPI_Comm_free. A program may make communicators forever, so only the first 256 communicators of one
/// parent with the same members are told apart (of those that are known by their members, the first 16 for tags that
/// are equal modulo 64). After that each takes over a record from the second half of these, in turn, and what is made
/// of such a communicator is not told apart. That depends only on the order in which their members make them, so all
/// members agree.
///
/// Memory: one record per communicator, at most 65,536; equal lists of members are kept once, at most 64 MiB. Thread
/// safety: any thread; all but id_of_communicator() and identity_if_of_all() take a lock that other MPI calls do not
/// take. Not for handlers.

#include <cstdint>
#include <span>

#include "adapters/mpi/library.hpp"
#include "measurement/definitions.hpp"

namespace refrain::adapters::mpi {

inline constexpr std::int64_t communicators_told_apart = 256, communicators_of_tag_told_apart = 16;

/// Defines the communicator of all processes, and MPI_COMM_SELF if the former is MPI_COMM_WORLD. To be called whenever
/// MPI has begun: with sessions it may begin again after its end.
void define_world(MPI_Comm world);
/// Gives back Refrain's MPI objects, before MPI is finalized. Records stay, but no more are made.
void forget_world();

/// The following return false if there is no room for another record, or MPI does not describe the communicator.

/// After an operation that is collective over `parent`; `made` may be MPI_COMM_NULL here.
bool define_child(MPI_Comm parent, MPI_Comm made);
/// Defines a duplicate of `parent`. Its members are taken from the parent's record, because MPI takes long to tell
/// those of a large communicator. If the parent is unknown, MPI is asked if `may_be_asked`, which requires that `made`
/// is complete.
bool define_duplicate(MPI_Comm parent, MPI_Comm made, bool may_be_asked);
bool define_of_group(MPI_Comm parent, int tag, MPI_Comm made);
bool define_by_members(int tag, MPI_Comm made);
/// The same for a communicator that MPI may return repeatedly. Does nothing if the handle is known.
bool define_once(MPI_Comm found);

/// The communicator's id; -1: unknown. Takes no lock.
std::int32_t id_of_communicator(MPI_Comm handle);
/// The identity of a communicator with the group of MPI_COMM_WORLD; 0: it has another group. Takes no lock.
std::uint64_t identity_if_of_all(std::int32_t id);
void name_communicator(MPI_Comm handle, const char* name);
/// The communicator with this handle is about to be freed. Returns its id; -1: unknown.
std::int32_t forget_handle(MPI_Comm handle);
/// The communicator was not freed after all.
void bind_communicator(std::int32_t id, MPI_Comm handle);

/// In order of id. Records never move; more may be added.
std::span<const measurement::CommunicatorRecord> all_communicators();

}  // namespace refrain::adapters::mpi
