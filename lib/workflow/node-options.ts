/**
 * Environment of functions that stream, with 512 MB: a small young generation. What has passed is then collected soon and
 * cheaply; else V8 lets it gather until the memory outside of its heap forces a full collection, again and again. Measured for
 * 1 GiB over TLS: 2.1 CPU seconds in place of 3.5, and 116 MB in place of 146 (docs/adr/0014).
 *
 * The old generation is given too: Lambda's start of Node leaves it alone where it finds the other, and V8 would take its
 * bound from a machine that is larger than the function. 320 MB leave room for memory outside the heap.
 */
export const STREAMING = { NODE_OPTIONS: '--max-old-space-size=320 --max-semi-space-size=1' };
