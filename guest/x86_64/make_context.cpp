// makecontext(context, function, count, ...) has any number of arguments, which C++ cannot pass on: registers and stack
// go on as they came.
asm(R"(
.text
.globl makecontext
.type makecontext,@function
makecontext:
.cfi_startproc
endbr64
pushq %rdi
.cfi_adjust_cfa_offset 8
pushq %rsi
.cfi_adjust_cfa_offset 8
pushq %rdx
.cfi_adjust_cfa_offset 8
pushq %rcx
.cfi_adjust_cfa_offset 8
pushq %r8
.cfi_adjust_cfa_offset 8
pushq %r9
.cfi_adjust_cfa_offset 8
subq $8,%rsp
.cfi_adjust_cfa_offset 8
call refrain_before_makecontext
addq $8,%rsp
.cfi_adjust_cfa_offset -8
popq %r9
.cfi_adjust_cfa_offset -8
popq %r8
.cfi_adjust_cfa_offset -8
popq %rcx
.cfi_adjust_cfa_offset -8
popq %rdx
.cfi_adjust_cfa_offset -8
popq %rsi
.cfi_adjust_cfa_offset -8
popq %rdi
.cfi_adjust_cfa_offset -8
jmp *%rax
.cfi_endproc
.size makecontext,.-makecontext
)");
