#pragma once
/// What every MPI call needs stands together: after other work of the program each further cache line is a miss, and
/// each further page is looked up in tables that are not in the caches either.

/// Before the definition of a variable of the process. All of them together are smaller than a line.
#define REFRAIN_HOT_DATA [[gnu::section("refrain_hot_data")]]
/// The same of what a call needs besides when events are kept (measurement/event_log.hpp): behind that line, so mostly
/// on its page.
#define REFRAIN_HOT_DATA_OF_EVENTS [[gnu::section("refrain_hot_data_of_events")]]

// Code, in this order in the library:
/// Before the definition of a wrapper that programs call often. All of them together take three pages, next to what
/// they call: the entries of eight pages share a line of the page table.
#define REFRAIN_HOT_CODE_OF_WRAPPERS [[gnu::section("refrain_hot_code_of_wrappers")]]
/// Before the definition of a function: one follows the other, without lines that are half used. All of them are one
/// page. The first one in the library is REFRAIN_FIRST_HOT_CODE.
#define REFRAIN_HOT_CODE [[gnu::section("refrain_hot_code")]]
#define REFRAIN_FIRST_HOT_CODE [[gnu::section("refrain_hot_code"), gnu::aligned(4096)]]
/// Behind them: what many calls need, but not all.
#define REFRAIN_HOT_CODE_OF_MANY [[gnu::section("refrain_hot_code_of_many")]]

/// Before the declaration of a variable in a header: it is defined in the same library. The compiler would look up in a
/// table where it lies, because a variable, unlike a function, could be another library's.
#define REFRAIN_OF_THIS_LIBRARY [[gnu::visibility("hidden")]]
