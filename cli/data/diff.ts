import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type Changes, changesBetween } from '../../core/export/column-drift.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { suggestion } from '../../core/suggestion.ts';
import { dateArgument, entitiesArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { bytesText, manyText, plainLine } from '../support/text.ts';
import { columnsOf } from './columns.ts';
import { failed, findManifest } from './find.ts';
import { type KeyChanges, keyChanges } from './key-changes.ts';
import { createManifests } from './manifests.ts';
import { namesOf, recordsOf, refuseUnread } from './read-file.ts';

interface Options extends TargetOptions {
  from: string;
  to: string;
  key: string;
  showKeys?: boolean;
  json?: boolean;
}

const NOTE = `
Both files are read whole, and proven by size and CRC-32; nothing is written. Up to 2 million different keys are compared.
Keys are data of customers: they are counted, and printed only with --show-keys.`;

/** Registers `diff`, which changes nothing and writes no file. */
export function addDiff(command: Command): void {
  const described = command
    .argument('<entity>', ENTITIES.join(', '), (text) => entitiesArgument(text)[0])
    .requiredOption('--from <YYYY-MM-DD>', 'the earlier date', dateArgument)
    .requiredOption('--to <YYYY-MM-DD>', 'the later date', dateArgument)
    .option('--key <column>', 'the column that identifies a row', 'id')
    .option('--show-keys', 'also the keys themselves')
    .option('--json', 'one JSON document')
    .action(diff);
  withExamples(described, {
    'diff leads --from 2026-11-20 --to 2026-11-21 --deployment prod':
      'columns, rows, bytes, and how many ids came and went',
    'diff leads --from 2026-11-20 --to 2026-11-21 --key email --show-keys --deployment prod':
      'by another column, with its values',
  }).addHelpText('after', NOTE);
}

async function diff(entity: Entity, options: Options): Promise<void> {
  const target = await connect(options);
  const manifests = createManifests(target);
  const before = await findManifest(manifests, entity, { date: options.from });
  const after = await findManifest(manifests, entity, { date: options.to });
  // Both manifests are looked at before either file is read.
  const keyIndexes = [before, after].map((manifest) => keyIndex(manifest, options.key));
  const keys = await keyChanges(keysOf(target, before, keyIndexes[0] ?? 0), keysOf(target, after, keyIndexes[1] ?? 0));
  const columns = changesBetween(columnsOf(before).columns, columnsOf(after).columns);
  if (options.json) return printOut(JSON.stringify(documentOf({ before, after, columns, keys }, options)));
  printOut(diffText({ before, after, columns, keys }, options).join('\n'));
  for (const [manifest, repeated] of [
    [before, keys.repeated.before],
    [after, keys.repeated.after],
  ] as const) {
    if (repeated > 0) printErr(`Warning: ${repeatedText(manifest, repeated, options.key)}`);
  }
}

/** Where the key is in a record. @throws CommandError: 1 where the header is not known, 2 where it has no such column */
function keyIndex(manifest: Manifest, key: string): number {
  refuseUnread(manifest);
  const { entity, date } = manifest;
  const names = namesOf(manifest);
  if (names === null) {
    throw failed(`The header of the ${entity} of ${date} is not known: no column of it can be compared.`);
  }
  const place = names.indexOf(key);
  if (place !== -1) return place;
  throw new CommandError(
    `The ${entity} of ${date} have no column "${key}"${suggestion(key, names)}: name another with --key; schema lists them.`,
    USAGE,
  );
}

async function* keysOf(target: Target, manifest: Manifest, place: number): AsyncGenerator<string> {
  let header = true;
  for await (const record of recordsOf(target, manifest)) {
    if (!header) yield record[place] ?? '';
    header = false;
  }
}

interface Difference {
  before: Manifest;
  after: Manifest;
  columns: Changes;
  keys: KeyChanges;
}

function documentOf({ before, after, columns, keys }: Difference, { key, showKeys }: Options) {
  const side = ({ date, execution, file }: Manifest) => ({ date, run: execution, rows: file.rows, bytes: file.bytes });
  const { added, removed, kept, repeated } = keys;
  return {
    entity: after.entity,
    from: side(before),
    to: side(after),
    columns,
    keys: { column: key, added: added.length, removed: removed.length, kept, repeated },
    ...(showKeys && { addedKeys: added, removedKeys: removed }),
  };
}

function diffText({ before, after, columns, keys }: Difference, { key, showKeys }: Options): string[] {
  const { added, removed, kept } = keys;
  return [
    `${after.entity}: ${before.date} (${plainLine(before.execution)}) to ${after.date} (${plainLine(after.execution)})`,
    `  columns: ${columnsChanged(columns)}`,
    `  rows: ${rowsOf(before)} to ${rowsOf(after)}`,
    `  bytes: ${bytesText(before.file.bytes)} to ${bytesText(after.file.bytes)}`,
    `  keys by ${plainLine(key)}: ${added.length} added, ${removed.length} removed, ${kept} in both`,
    ...(showKeys ? [...added.map((one) => `+ ${plainLine(one)}`), ...removed.map((one) => `- ${plainLine(one)}`)] : []),
  ];
}

function columnsChanged({ added, removed, retyped, relabelled }: Changes): string {
  const words = [
    ...added.map((name) => `${name} added`),
    ...removed.map((name) => `${name} removed`),
    ...retyped.map(({ name, from, to }) => `${name} ${from} to ${to}`),
    ...relabelled.map(({ name }) => `${name} relabelled`),
  ];
  return plainLine(words.join(', ')) || 'the same';
}

function rowsOf({ file }: Manifest): string {
  return file.rows === null ? 'not counted' : file.rows.toLocaleString('en-US');
}

function repeatedText({ date }: Manifest, repeated: number, key: string): string {
  return `${manyText(repeated, 'row')} of ${date} repeat a ${plainLine(key)} of an earlier row: it does not identify a row there.`;
}
