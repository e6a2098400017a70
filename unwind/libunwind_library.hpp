#pragma once
/// The four entries of libunwind that are used, shared by the handler half and the loader. Names and numbers are those
/// of libunwind's interface for x86-64 (unw_init_local2, unw_step, unw_get_reg, unw_is_signal_frame).

namespace refrain::unwind {

struct LibunwindLibrary {
  int (*init_local2)(void* cursor, void* context, int flag);
  int (*step)(void* cursor);
  int (*get_register)(void* cursor, int number, unsigned long* value);
  int (*is_signal_frame)(void* cursor);
};

extern LibunwindLibrary libunwind;

}  // namespace refrain::unwind
