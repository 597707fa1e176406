import { type Command, Option } from 'commander';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { proposedType } from '../../core/table/proposed-type.ts';
import { withExamples } from '../support/command-options.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { columnRemarks, columnsOf, columnsText, type FileColumns } from './columns.ts';
import { findManifest, type Which } from './find.ts';
import { createManifests } from './manifests.ts';
import { refuseUnread } from './read-file.ts';
import { remarksOf } from './remarks.ts';
import { addWhich } from './which-options.ts';

interface Options extends TargetOptions, Which {
  json?: boolean;
  propose?: boolean;
}

const NOTE = `
A proposal goes by the CRM's words for its types, which do not say how a value is written: look with peek, and name a format where
a date is not written as in ISO 8601.`;

/** Registers `schema`, which reads the manifest alone: no row is fetched. */
export function addSchema(command: Command): void {
  const described = addWhich(command)
    .option('--json', 'one JSON document')
    .addOption(
      new Option(
        '--propose',
        'what a configuration says of the table of such files: types as the CRM names them, no value is looked at',
      ).conflicts('json'),
    )
    .action(schema);
  withExamples(described, {
    'schema leads --deployment prod': 'columns, types and labels of the newest leads; no rows',
    'schema leads --date 2026-11-20 --json --deployment prod': 'of a date, for a program',
    'schema leads --propose --deployment prod': 'types for the Parquet table of leads, to be read and pasted',
  }).addHelpText('after', NOTE);
}

async function schema(entity: Entity, options: Options): Promise<void> {
  const manifest = await findManifest(createManifests(await connect(options)), entity, options);
  refuseUnread(manifest);
  const found = columnsOf(manifest);
  if (options.propose) return propose(manifest, found);
  const { date, execution, file } = manifest;
  if (options.json) return printOut(JSON.stringify({ entity, date, run: execution, ...found }));
  const others = found.others?.length ? `; the CRM lists ${manyText(found.others.length, 'column')} more` : '';
  printOut(`${entity} of ${date} (${plainLine(execution)}): ${manyText(found.columns.length, 'column')}${others}.\n`);
  printOut(columnsText(found));
  for (const remark of [...remarksOf(manifest), ...columnRemarks(file)]) printErr(`Warning: ${remark}`);
}

/** Every column is named, text too: the catalog of Athena knows only those that the configuration names. */
function propose(manifest: Manifest, found: FileColumns): void {
  const typed = found.columns.map(({ name, type }) => ({ name, type, proposed: type && proposedType(type) }));
  const columns = Object.fromEntries(typed.map(({ name, proposed }) => [name, proposed || 'text']));
  printOut(JSON.stringify({ entities: { [manifest.entity]: { tables: { columns } } } }, null, 2));
  const unclear = typed.filter(({ proposed }) => !proposed).map(({ name, type }) => `${name} (${type ?? 'none'})`);
  const remarks =
    unclear.length > 0 ? [`Proposed as text, for the CRM's type has no counterpart: ${unclear.join(', ')}.`] : [];
  for (const remark of [...remarksOf(manifest), ...columnRemarks(manifest.file), ...remarks])
    printErr(`Warning: ${plainLine(remark)}`);
}
