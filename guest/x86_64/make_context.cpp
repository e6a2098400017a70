// makecontext(context, function, count, ...) has any number of arguments, which C++ cannot pass on, so this passes
// registers and stack on unchanged.
asm(R"(
.text
.globl makecontext
.type makecontext,@function
makecontext:
.cfi_startproc
endbr64
.irp argument,rdi,rsi,rdx,rcx,r8,r9
pushq %\argument
.cfi_adjust_cfa_offset 8
.endr
subq $8,%rsp
.cfi_adjust_cfa_offset 8
call refrain_before_makecontext
addq $8,%rsp
.cfi_adjust_cfa_offset -8
.irp argument,r9,r8,rcx,rdx,rsi,rdi
popq %\argument
.cfi_adjust_cfa_offset -8
.endr
jmp *%rax
.cfi_endproc
.size makecontext,.-makecontext
)");
