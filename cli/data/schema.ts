import type { Command } from 'commander';
import type { Entity } from '../../core/config/entities.ts';
import { withExamples } from '../support/command-options.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { columnRemarks, columnsOf, columnsText } from './columns.ts';
import { findManifest, type Which } from './find.ts';
import { createManifests } from './manifests.ts';
import { remarksOf } from './remarks.ts';
import { addWhich } from './which-options.ts';

interface Options extends TargetOptions, Which {
  json?: boolean;
}

/** Registers `schema`, which reads the manifest alone: no row is fetched. */
export function addSchema(command: Command): void {
  const described = addWhich(command).option('--json', 'one JSON document').action(schema);
  withExamples(described, {
    'schema leads --deployment prod': 'columns, types and labels of the newest leads; no rows',
    'schema leads --date 2026-11-20 --json --deployment prod': 'of a date, for a program',
  });
}

async function schema(entity: Entity, options: Options): Promise<void> {
  const manifest = await findManifest(createManifests(await connect(options)), entity, options);
  const found = columnsOf(manifest);
  const { date, execution } = manifest;
  if (options.json) return printOut(JSON.stringify({ entity, date, run: execution, ...found }));
  const others = found.others?.length ? `; the CRM lists ${manyText(found.others.length, 'column')} more` : '';
  printOut(`${entity} of ${date} (${plainLine(execution)}): ${manyText(found.columns.length, 'column')}${others}.\n`);
  printOut(columnsText(found));
  for (const remark of [...remarksOf(manifest), ...columnRemarks(found)]) printErr(`Warning: ${remark}`);
}
