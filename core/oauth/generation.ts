import { createHash } from 'node:crypto';
import type { Tokens } from './secrets.ts';

/**
 * A generation: one stored grant, whose refresh token may be spent once. Its name is the VersionId under which Secrets
 * Manager holds it.
 */
export interface Generation {
  versionId: string;
  tokens: Tokens;
}

/** Stands for "nothing was ever stored": what the very first authorization follows. */
export const BEFORE_THE_FIRST = 'before-the-first';

/**
 * The VersionId of the one successor that a generation can have, shaped like a UUID. Known in advance, so that storing it
 * twice is storing it once, and so that a stale read of the label is found out.
 */
export function successorOf(versionId: string): string {
  const hex = createHash('sha256').update(`successor of ${versionId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
