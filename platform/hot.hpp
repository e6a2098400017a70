#pragma once
/// Places together what every MPI call needs. After other work of the program each further cache line is a miss, and
/// each further page needs a page-table entry that is not in the caches either.

/// Before the definition of a variable of the process. All of them together are smaller than a cache line.
#define REFRAIN_HOT_DATA [[gnu::section("refrain_hot_data")]]
/// The same for variables that a call needs in addition while events are kept (measurement/event_log.hpp). They follow
/// that line, so they are mostly on its page.
#define REFRAIN_HOT_DATA_OF_EVENTS [[gnu::section("refrain_hot_data_of_events")]]

// Code, in this order in the library:
/// Before the definition of a wrapper that programs call often. All of them together take three pages, next to what
/// they call: the entries of eight pages share a line of the page table.
#define REFRAIN_HOT_CODE_OF_WRAPPERS [[gnu::section("refrain_hot_code_of_wrappers")]]
/// Before the definition of a function. They follow each other without half-used lines, and together take one page. The
/// first one in the library is REFRAIN_FIRST_HOT_CODE.
#define REFRAIN_HOT_CODE [[gnu::section("refrain_hot_code")]]
#define REFRAIN_FIRST_HOT_CODE [[gnu::section("refrain_hot_code"), gnu::aligned(4096)]]
/// Behind them, for functions that many calls need, but not all.
#define REFRAIN_HOT_CODE_OF_MANY [[gnu::section("refrain_hot_code_of_many")]]

/// Before the declaration, in a header, of a variable that is defined in the same library. Otherwise the compiler would
/// look up its address in a table, because a variable, unlike a function, could be another library's.
#define REFRAIN_OF_THIS_LIBRARY [[gnu::visibility("hidden")]]
