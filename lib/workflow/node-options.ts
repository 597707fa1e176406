/** Memory outside the heap of V8: code, buffers, the stack. */
const OUTSIDE_HEAP_MB = 192;

/**
 * Environment of functions that stream. With a small young generation, garbage is collected early and cheaply;
 * otherwise memory outside the heap forces full collections. 1 GiB over TLS takes 2.1 CPU seconds instead of 3.5. If
 * this variable is set, Lambda does not size the old generation, and V8 would size it for the whole machine.
 * @param youngMB a function that keeps what it reads takes half more CPU with 1 than with 8
 */
export function streaming(memoryMB: number, youngMB = 1): { NODE_OPTIONS: string } {
  return {
    NODE_OPTIONS: `--max-old-space-size=${memoryMB - OUTSIDE_HEAP_MB} --max-semi-space-size=${youngMB}`,
  };
}
