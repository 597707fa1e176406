/** Memory for what V8 does not count: code, buffers, the stack. */
const OUTSIDE_HEAP_MB = 192;

/**
 * Environment of functions that stream. With a small young generation, garbage is collected soon and cheaply; else memory outside
 * of the heap forces full collections. For 1 GiB over TLS: 2.1 CPU seconds instead of 3.5.
 * Lambda then sets no old generation, and V8 would size it for the whole machine.
 */
export function streaming(memoryMB: number): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--max-old-space-size=${memoryMB - OUTSIDE_HEAP_MB} --max-semi-space-size=1` };
}

/**
 * Environment of a function that gathers rows of a table, or the ids of an update file: an eighth more CPU than with V8's own sizes,
 * for half of the memory (docs/adr/0025-parquet-tables.md). With a young generation as small as above it would be half more CPU.
 */
export function gathering(memoryMB: number): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--max-old-space-size=${memoryMB - OUTSIDE_HEAP_MB} --max-semi-space-size=8` };
}
