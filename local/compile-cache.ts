import { join } from 'node:path';

/**
 * Keeps compiled code for later processes. `cli/main.js` has a copy of this path, because it sets the cache before it
 * imports anything.
 */
export const COMPILE_CACHE = join(import.meta.dirname, '..', '.cache', 'compiled');
