// The assembly code of dlsym and dlvsym (adapters/mpi/calls/handle_symbols.hpp). The C library finds the asking object
// by the return address on the stack, so RTLD_NEXT (-1) and RTLD_DEFAULT (0) must leave by a jump, which C++ cannot
// promise.

asm(R"(
.macro refrain_look_up name, next, find, of_handle
.text
.globl \name
.type \name,@function
\name:
.cfi_startproc
endbr64
leaq 1(%rdi),%rax
cmpq $1,%rax
ja \of_handle
movq \next(%rip),%rax
testq %rax,%rax
jz 1f
jmp *%rax
1:
.irp argument,rdi,rsi,rdx
pushq %\argument
.cfi_adjust_cfa_offset 8
.endr
call \find
.irp argument,rdx,rsi,rdi
popq %\argument
.cfi_adjust_cfa_offset -8
.endr
jmp *%rax
.cfi_endproc
.size \name,.-\name
.endm

.hidden refrain_next_dlsym
.hidden refrain_next_dlvsym
.hidden refrain_find_dlsym
.hidden refrain_find_dlvsym
.hidden refrain_symbol_of_handle
.hidden refrain_versioned_symbol_of_handle
refrain_look_up dlsym, refrain_next_dlsym, refrain_find_dlsym, refrain_symbol_of_handle
refrain_look_up dlvsym, refrain_next_dlvsym, refrain_find_dlvsym, refrain_versioned_symbol_of_handle
)");
