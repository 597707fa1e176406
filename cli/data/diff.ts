import type { Changes } from '../../core/columns/column-changes.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { FileState } from '../runs/run.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { bytesText, countText, numberText, printableLine } from '../support/text.ts';
import type { RowChanges } from './compare-rows.ts';
import { type Difference, difference } from './file-difference.ts';
import { findManifest, publishedBefore } from './find-manifest.ts';
import { createManifests, publicationWarnings } from './stored-manifests.ts';

interface Options extends TargetOptions {
  from?: string;
  to?: string;
  run?: string;
  key?: string;
  showKeys?: boolean;
  json?: boolean;
}

/** Runs the command `diff`, which changes nothing and writes no file. */
export async function diff(entity: Entity, { from, to, run, key, showKeys, json, ...options }: Options): Promise<void> {
  const target = await connect(options);
  const manifests = createManifests(target);
  const wanted = { ...(run !== undefined && { run }), ...(to !== undefined && { date: to }) };
  const after = await findManifest(manifests, entity, wanted);
  const before =
    from === undefined
      ? await publishedBefore(manifests, after)
      : await findManifest(manifests, entity, { date: from });
  const found = await difference(target, before, after, { key, showKeys });
  if (json) return printJson(diffDocument(found));
  printOut(diffText(found).join('\n'));
  for (const warning of [...publicationWarnings(after), ...keyWarnings(found)]) printErr(`Warning: ${warning}`);
}

export function diffText({ before, after, states, columns, rows }: Difference): string[] {
  return [
    `${after.run.entity}: ${sideText(before, states.before)} to ${sideText(after, states.after)}`,
    `  columns: ${columnsChanged(columns)}`,
    `  rows: ${rowCount(before)} to ${rowCount(after)}`,
    `  bytes: ${bytesText(before.file.bytes)} to ${bytesText(after.file.bytes)}`,
    ...(rows === null
      ? ['  keys: not compared, because a file has no column id; name another column with --key']
      : rowsText(rows)),
  ];
}

function sideText({ execution, run }: Manifest, state: FileState): string {
  return `${run.date} (${printableLine(execution)}${state === 'published' ? '' : `, ${state}`})`;
}

function rowsText({ keys, changed, addedKeys = [], removedKeys = [], changedKeys = [] }: RowChanges): string[] {
  const most = Object.entries(changed.columns).sort(([, one], [, other]) => other - one);
  const where = most.map(([name, count]) => `${name} ${numberText(count)}`).join(', ');
  const lines = (mark: string, shown: string[]) => shown.map((key) => `${mark} ${printableLine(key)}`);
  return [
    `  keys by ${printableLine(keys.column)}: ${numberText(keys.added)} added, ${numberText(keys.removed)} removed, ${numberText(keys.kept)} in both`,
    `  changed: ${countText(changed.rows, 'row')}${printableLine(where === '' ? '' : `: ${where}`)}`,
    ...[...lines('+', addedKeys), ...lines('-', removedKeys), ...lines('~', changedKeys)],
  ];
}

function columnsChanged({ added, removed, retyped }: Changes): string {
  const words = [
    ...added.map((name) => `${name} added`),
    ...removed.map((name) => `${name} removed`),
    ...retyped.map(({ name, from, to }) => `${name} ${from} to ${to}`),
  ];
  return printableLine(words.join(', ')) || 'the same';
}

function rowCount({ file }: Manifest): string {
  return file.rows === null ? 'not counted' : numberText(file.rows);
}

/** Warnings about rows that were counted but not compared. */
export function keyWarnings({ before, after, rows }: Difference): string[] {
  if (rows === null) return [];
  const { column, repeated, empty } = rows.keys;
  const key = printableLine(column);
  return [
    { date: before.run.date, repeats: repeated.before, lacks: empty.before },
    { date: after.run.date, repeats: repeated.after, lacks: empty.after },
  ].flatMap(({ date, repeats, lacks }) => [
    ...(repeats > 0
      ? [
          `The file of ${date} has ${countText(repeats, 'row')} with the ${key} of an earlier row, so ${key} does not identify a row.`,
        ]
      : []),
    ...(lacks > 0 ? [`The file of ${date} has ${countText(lacks, 'row')} without ${key}, not compared.`] : []),
  ]);
}

function diffDocument({ before, after, states, columns, rows }: Difference) {
  const side = ({ execution, file, run }: Manifest, state: FileState) => ({
    ...{ date: run.date, run: execution, state, rows: file.rows, bytes: file.bytes },
  });
  return {
    entity: after.run.entity,
    from: side(before, states.before),
    to: side(after, states.after),
    columns,
    // Without a key, the command has not read the files.
    ...(rows ?? { keys: null, changed: null }),
  };
}
