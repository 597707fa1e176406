import { createHash } from 'node:crypto';
import type { Tokens } from './secrets.ts';

/** One stored grant, whose refresh token may be spent once. Named by its VersionId in Secrets Manager. */
export interface Generation {
  versionId: string;
  tokens: Tokens;
}

/** Stands for the generation of a grant of which nothing was ever stored. */
export const BEFORE_THE_FIRST = 'before-the-first';

/** The VersionId of the one generation that can follow. Known in advance: storing it twice is storing it once. */
export function successorOf(versionId: string): string {
  const hex = createHash('sha256').update(`successor of ${versionId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
