import type { DriftPolicy } from '../config/gate-settings.ts';
import { columnChanges, columnsOf, type Subject } from './subject.ts';

/** How the columns of a file are not those that were requested, in sentences; nothing where the configuration accepts it. */
export function columnRemarks({ facts, promised: { columns, drift } }: Subject): string[] {
  const named = columnsOf(facts);
  const changes = columnChanges(facts, columns);
  if (!named || !changes || facts.empty || isAccepted(changes, drift)) return [];
  if (named.length !== columns.length)
    return [`The header has ${named.length} columns; ${columns.length} were requested.`];
  const otherwise = named.some((name, place) => name !== columns[place]);
  return otherwise ? ['The header names the columns otherwise than they were requested.'] : [];
}

/** Whether the configuration accepts every change, and there is one. */
function isAccepted({ added, removed }: { added: number; removed: number }, policy: DriftPolicy): boolean {
  if (added + removed === 0) return false;
  return (added === 0 || policy.added === 'accept') && (removed === 0 || policy.removed === 'accept');
}
