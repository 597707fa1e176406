/** Memory outside the heap of V8: code, buffers, the stack. */
const OUTSIDE_HEAP_MB = 192;

/**
 * Environment of functions that stream. With a small young generation, garbage is collected early and cheaply;
 * otherwise memory outside the heap forces full collections. 1 GiB over TLS takes 2.1 CPU seconds instead of 3.5. With
 * this variable Lambda sets no old generation, and V8 would size it for the whole machine.
 */
export function streaming(memoryMB: number): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--max-old-space-size=${memoryMB - OUTSIDE_HEAP_MB} --max-semi-space-size=1` };
}

/** Environment of a function that holds the ids of an update file. With the settings of `streaming` it takes half more CPU. */
export function gathering(memoryMB: number): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--max-old-space-size=${memoryMB - OUTSIDE_HEAP_MB} --max-semi-space-size=8` };
}
