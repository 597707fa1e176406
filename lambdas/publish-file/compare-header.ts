import type { DriftPolicy } from '../../core/config/drift-settings.ts';
import type { GuardCheck } from '../../core/export/guards.ts';
import type { Contents } from './contents.ts';

/** How many columns a file has beyond those that were requested, and how many it lacks. */
interface HeaderChanges {
  added: number;
  removed: number;
}

/** By its header; where that is not known, by the width of its first record. */
export function headerChanges(
  { header, width }: Pick<Contents, 'header' | 'width'>,
  requested: string[],
): HeaderChanges {
  if (header === null) {
    const wider = width === null ? 0 : width - requested.length;
    return { added: Math.max(0, wider), removed: Math.max(0, -wider) };
  }
  return {
    added: header.filter((name) => !requested.includes(name)).length,
    removed: requested.filter((name) => !header.includes(name)).length,
  };
}

/** Whether the configuration accepts every change, and there is one. */
export function isAccepted({ added, removed }: HeaderChanges, policy: DriftPolicy): boolean {
  if (added + removed === 0) return false;
  return (added === 0 || policy.added === 'accept') && (removed === 0 || policy.removed === 'accept');
}

/** The guard of a configuration that stops at such changes; the columns of a file that is not CSV are not known. */
export function headerChecks(
  contents: Pick<Contents, 'header' | 'width'>,
  requested: string[],
  policy: DriftPolicy,
): GuardCheck[] {
  if (policy.added !== 'stop' && policy.removed !== 'stop') return [];
  if (contents.header === null && contents.width === null)
    return [{ guard: 'header', passed: true, measured: null, bound: 0 }];
  const { added, removed } = headerChanges(contents, requested);
  const measured = (policy.added === 'stop' ? added : 0) + (policy.removed === 'stop' ? removed : 0);
  return [{ guard: 'header', passed: measured === 0, measured, bound: 0 }];
}
