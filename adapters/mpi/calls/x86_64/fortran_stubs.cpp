// The assembly code of the Fortran wrappers (adapters/mpi/calls/fortran_symbols.hpp). A wrapper does not know how many
// arguments its function has, of which types, or whether it is MPI's at all. So it must leave all registers and the
// stack unchanged, which C++ cannot express.

// Defines every Fortran name. The index of the symbol goes into r11, which passes no argument.
#define REFRAIN_FORTRAN_SYMBOL(name, index, function, words, offset)                                        \
  asm(".text\n.globl " name "\n.type " name ",@function\n" name ":\n.cfi_startproc\nendbr64\nmovl $" #index \
      ",%r11d\njmp refrain_fortran_dispatch\n.cfi_endproc\n.size " name ",.-" name "\n");
#include "fortran_symbols.inc"
#undef REFRAIN_FORTRAN_SYMBOL

asm(R"(
.macro refrain_function name
.hidden \name
.globl \name
.type \name,@function
\name:
.cfi_startproc
endbr64
.endm
.macro refrain_end name
.cfi_endproc
.size \name,.-\name
.endm
.macro refrain_frame
pushq %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp,-16
movq %rsp,%rbp
.cfi_def_cfa_register %rbp
.endm
.macro refrain_unframe
leave
.cfi_def_cfa %rsp,8
.cfi_restore %rbp
.endm

# On to the target of the symbol, which is not known at the first call.
refrain_function refrain_fortran_dispatch
leaq refrain_fortran_targets(%rip),%r10
movq (%r10,%r11,8),%r10
testq %r10,%r10
jz refrain_fortran_first
jmp *%r10
refrain_end refrain_fortran_dispatch

refrain_function refrain_fortran_first
refrain_frame
subq $192,%rsp
movq %rdi,(%rsp)
movq %rsi,8(%rsp)
movq %rdx,16(%rsp)
movq %rcx,24(%rsp)
movq %r8,32(%rsp)
movq %r9,40(%rsp)
movq %rax,48(%rsp)
movq %r11,56(%rsp)
.irp number,0,1,2,3,4,5,6,7
movups %xmm\number,64+16*\number(%rsp)
.endr
movl %r11d,%edi
call refrain_find_fortran
movq %rax,%r10
movq (%rsp),%rdi
movq 8(%rsp),%rsi
movq 16(%rsp),%rdx
movq 24(%rsp),%rcx
movq 32(%rsp),%r8
movq 40(%rsp),%r9
movq 48(%rsp),%rax
movq 56(%rsp),%r11
.irp number,0,1,2,3,4,5,6,7
movups 64+16*\number(%rsp),%xmm\number
.endr
refrain_unframe
jmp *%r10
refrain_end refrain_fortran_first

# The target of MPI's own functions: their arguments are addresses and lengths, in registers and on the stack.
refrain_function refrain_fortran_measured
refrain_frame
pushq %r9
pushq %r8
pushq %rcx
pushq %rdx
pushq %rsi
pushq %rdi
movl %r11d,%edi
movq %rsp,%rsi
movq %rbp,%rdx
call refrain_call_fortran
refrain_unframe
ret
refrain_end refrain_fortran_measured

# refrain_pass_on(function, six registers, words on the stack, their even number)
refrain_function refrain_pass_on
refrain_frame
movq %rdi,%r10
movq %rsi,%rax
jmp 2f
1:
pushq -8(%rdx,%rcx,8)
decq %rcx
2:
testq %rcx,%rcx
jnz 1b
movq (%rax),%rdi
movq 8(%rax),%rsi
movq 16(%rax),%rdx
movq 24(%rax),%rcx
movq 32(%rax),%r8
movq 40(%rax),%r9
xorl %eax,%eax
call *%r10
refrain_unframe
ret
refrain_end refrain_pass_on
)");
