import { type Command, Option } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { dateArgument, entitiesArgument, withExamples } from '../support/command-options.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { diffDocument, diffText, keyWarnings } from './diff/diff-text.ts';
import { difference, publishedBefore } from './difference.ts';
import { findManifest } from './find.ts';
import { createManifests } from './manifests.ts';
import { remarksOf } from './remarks.ts';

interface Options extends TargetOptions {
  from?: string;
  to?: string;
  run?: string;
  key?: string;
  showKeys?: boolean;
  json?: boolean;
}

const NOTE = `
Both files are read whole, and proven by size and CRC-32; nothing is written. Up to 2 million different keys are compared.
Keys are data of customers: they are counted, and printed only with --show-keys: + added, - removed, ~ changed.`;

/** Registers `diff`, which changes nothing and writes no file. */
export function addDiff(command: Command): void {
  const described = command
    .argument('<entity>', ENTITIES.join(', '), (text) => entitiesArgument(text)[0])
    .option('--from <YYYY-MM-DD>', 'the earlier date; default: the one before', dateArgument)
    .option('--to <YYYY-MM-DD>', 'the later date; default: the newest', dateArgument)
    .addOption(
      new Option(
        '--run <name>',
        'instead of a later date what one run stored, though it is quarantined; a unique end of its name does',
      ).conflicts('to'),
    )
    .option('--key <column>', 'the column that identifies a row; default: id, where the files have it')
    .option('--show-keys', 'also the keys themselves')
    .option('--json', 'one JSON document')
    .action(diff);
  withExamples(described, {
    'diff leads --deployment prod':
      'the newest against the one before: columns, rows, and how many came, went and changed',
    'diff leads --run leads-20261121T020000Z-1a2b3c --deployment prod':
      'a quarantined file against what readers have instead',
    'diff leads --from 2026-11-20 --to 2026-11-21 --key email --show-keys --deployment prod':
      'two dates, by another column, with its values',
  }).addHelpText('after', NOTE);
}

async function diff(entity: Entity, { from, to, run, key, showKeys, json, ...options }: Options): Promise<void> {
  const target = await connect(options);
  const manifests = createManifests(target);
  const wanted = { ...(run !== undefined && { run }), ...(to !== undefined && { date: to }) };
  const after = await findManifest(manifests, entity, wanted);
  const before =
    from === undefined
      ? await publishedBefore(manifests, after)
      : await findManifest(manifests, entity, { date: from });
  const found = await difference(target, before, after, key);
  if (json) return printOut(JSON.stringify(diffDocument(found, showKeys)));
  printOut(diffText(found, showKeys).join('\n'));
  for (const remark of [...remarksOf(after), ...keyWarnings(found)]) printErr(`Warning: ${remark}`);
}
