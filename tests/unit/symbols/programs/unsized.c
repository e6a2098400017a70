/* A function of assembler code that does not say how long it is, and code without any symbol after it. */
__asm__(
    ".text\n.globl unsized\n.type unsized, @function\n"
    "unsized: ret\n.fill 63, 1, 0x90\n");
void unsized(void);
int main(void) {
  unsized();
  return 0;
}
