/**
 * Environment of functions that stream, with 512 MB. With a small young generation, garbage is collected soon and cheaply; else
 * memory outside of the heap forces full collections. For 1 GiB over TLS: 2.1 CPU seconds instead of 3.5 (docs/design/transfer-engine.md).
 * Lambda then sets no old generation, and V8 would size it for the whole machine: 320 MB leave room outside the heap.
 */
export const STREAMING = { NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=1' };
