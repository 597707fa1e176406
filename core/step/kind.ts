import * as z from 'zod/mini';

/** `full`: all records. `window`: the configured plan depends on the date. `partial`: another plan than the configured. */
export const kindSchema = z.enum(['full', 'window', 'partial']);
