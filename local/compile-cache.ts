import { join } from 'node:path';

/** Code compiled by one process is not compiled again by the next. `cli/main.js` names it too, before it can import this. */
export const COMPILE_CACHE = join(import.meta.dirname, '..', '.cache', 'compiled');
