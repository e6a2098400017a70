#include "offline/trace/regions.hpp"

namespace refrain::trace {

Role role_of_mpi(std::string_view name) {
  struct Of {
    std::string_view part;
    Role role;
  };
  constexpr Of roles_of_parts[] = {
      {"File_", Role::FileIo},       {"arrier", Role::Barrier},    {"Put", Role::OneSided},
      {"Get_acc", Role::OneSided},   {"Win_", Role::OneSided},     {"reduce", Role::AllToAll},
      {"Allgather", Role::AllToAll}, {"Alltoall", Role::AllToAll}, {"cast", Role::OneToAll},
      {"Scatter", Role::OneToAll},   {"Gather", Role::AllToOne},   {"Reduce", Role::AllToOne},
      {"send", Role::PointToPoint},  {"Send", Role::PointToPoint}, {"recv", Role::PointToPoint},
      {"Recv", Role::PointToPoint},  {"Wait", Role::PointToPoint}, {"Test", Role::PointToPoint}};
  for (const auto& [part, role] : roles_of_parts)
    if (name.find(part) != std::string_view::npos) return role;
  return Role::Function;
}

}  // namespace refrain::trace
