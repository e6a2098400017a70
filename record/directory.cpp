#include "record/directory.hpp"

namespace refrain::record {

archive::ExperimentDirectory directory;

}  // namespace refrain::record
