#include "tools/console.hpp"

#include <gtest/gtest.h>
#include <string>

namespace refrain::tools {
namespace {

TEST(Console, what_is_said_cannot_control_the_terminal) {
  testing::internal::CaptureStderr();
  say("{}: is\tno\nprofile", std::string("na\x1b[2Jme\x07\xff\xc3\xa4"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "na\xef\xbf\xbd[2Jme\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4: is\tno\nprofile\n");
}

}  // namespace
}  // namespace refrain::tools
