import { join } from 'node:path';

/** Keeps compiled code for later processes. `cli/main.js` repeats this path, because it runs before imports. */
export const COMPILE_CACHE = join(import.meta.dirname, '..', '.cache', 'compiled');
