#pragma once
/// What every MPI call needs stands together: after other work of the program each further cache line is a miss.

/// Before the definition of a variable of the process. All of them together are smaller than a line.
#define REFRAIN_HOT_DATA [[gnu::section("refrain_hot_data")]]
/// Before the definition of a function: one follows the other, without lines that are half used.
#define REFRAIN_HOT_CODE [[gnu::section("refrain_hot_code")]]
