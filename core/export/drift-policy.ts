import { CRM_EXPORT } from '../commands.ts';
import type { DriftPolicy } from '../config/gate-settings.ts';
import { RunError } from '../errors.ts';
import type { Changes } from './column-drift.ts';
import { changeTexts } from './drift-words.ts';
import type { ExportInput } from './input.ts';

/** Labels follow no policy: they are kept, and that is all. */
const KINDS = ['removed', 'added', 'retyped'] as const;

/**
 * What a run has to warn of.
 * @param since date of the export that was compared with
 * @throws RunError `SchemaChanged` where the configuration stops at a change that nobody has accepted
 */
export function judgeChanges(
  changes: Changes,
  since: string,
  policy: DriftPolicy,
  { entity, date, acceptSchema }: Pick<ExportInput, 'entity' | 'acceptSchema'> & { date: string },
): { remarks: string[]; schemaChanges: number } {
  const texts = changeTexts(changes, since);
  const stopping = KINDS.filter((kind) => policy[kind] === 'stop' && texts[kind]);
  if (stopping.length > 0 && !acceptSchema) {
    const what = stopping.map((kind) => `${texts[kind]} (drift.${kind})`).join(' ');
    const accept = `${CRM_EXPORT} start ${entity} --date ${date} --accept-schema`;
    throw new RunError('SchemaChanged', `${what} To accept it: ${accept}.`);
  }
  const warned = KINDS.filter((kind) => policy[kind] !== 'accept' && texts[kind]);
  return {
    remarks: warned.flatMap((kind) => texts[kind] ?? []),
    schemaChanges: warned.reduce((sum, kind) => sum + changes[kind].length, 0),
  };
}
