import type { Command } from 'commander';
import type { Entity } from '../../core/config/entities.ts';
import { outputArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { downloadAll } from './download-all.ts';
import { downloadInto, wholeOutput } from './download-file.ts';
import { defaultPath, downloadOne, factsOf, printDownloaded } from './download-one.ts';
import { findManifest, type Which } from './find.ts';
import { createManifests } from './manifests.ts';
import { refuseExisting } from './part.ts';
import { remarksOf } from './remarks.ts';
import { addWhich } from './which-options.ts';

interface Options extends TargetOptions, Which {
  all?: boolean;
  excel?: boolean;
  output?: string;
  force?: boolean;
  json?: boolean;
}

const NOTE = `
With --excel every cell is the text that the file has: telephone numbers keep + and zeros, and nothing is run. What a sheet
cannot hold is refused by row and column: 1,048,576 rows with the header, 16,384 columns, 32,767 characters in a cell.
With --all the exit code is 1 where a file is missing or corrupt; the others are downloaded. With --all --date all files are of one
revision of the night.`;

/** Registers `download`, which changes nothing in the deployment. */
export function addDownload(command: Command): void {
  const described = addWhich(command, '[entity]')
    .option('--all', 'the files of all entities')
    .option('--excel', 'a workbook (xlsx) in which every cell is a text, as it came')
    .option(
      '-o, --output <file>',
      'default: ENTITY-DATE with the ending of the file (leads-2026-11-20.csv, with --excel leads-2026-11-20.excel.xlsx) in this directory; - is standard output; with --all a directory',
      outputArgument,
    )
    .option('--force', 'replace a file that is there')
    .option('--json', 'one JSON document')
    .action(download);
  withExamples(described, {
    'download leads --deployment prod': 'the newest leads',
    'download leads --date 2026-11-20 -o /data/leads.csv --deployment prod':
      'a date; run it again to go on after a break',
    'download leads -o - --deployment prod | gzip > leads.csv.gz': 'through a pipe; exit code 1 where it was not whole',
    'download --all --date 2026-11-20 -o /data --deployment prod': 'all entities of a date, into a directory',
    'download leads --excel --deployment prod': 'to be opened in a spreadsheet',
  }).addHelpText('after', NOTE);
}

async function download(entity: Entity | undefined, options: Options): Promise<void> {
  const { output, excel = false, force = false, json = false } = options;
  refuseContradiction(entity, options);
  if (entity === undefined) return downloadAll(await connect(options), { ...options, force, json, excel });
  // First, because calls of AWS take seconds.
  if (output !== undefined && output !== '-') await refuseExisting(output, force);
  const target = await connect(options);
  const manifest = await findManifest(createManifests(target), entity, options);
  if (output === '-') {
    await downloadInto(target, manifest, wholeOutput());
    for (const remark of remarksOf(manifest)) printErr(`Warning: ${remark}`);
    return printErr(`Whole: ${factsOf(manifest)}.`);
  }
  const path = output ?? defaultPath(manifest, excel);
  const { document, text } = await downloadOne(target, manifest, { path, force, excel });
  if (json) printOut(JSON.stringify(document));
  else printDownloaded(manifest, path, text);
}

/** @throws CommandError (exit code 2) */
function refuseContradiction(entity: Entity | undefined, { all, run, output, json, excel }: Options): void {
  const no = (sentence: string) => new CommandError(sentence, USAGE);
  if ((entity === undefined) !== (all === true)) throw no('Name one entity, or else --all.');
  if (all && run !== undefined) throw no('A run is of one entity: name it, without --all.');
  if (output !== '-') return;
  if (json) throw no('Standard output holds the file or the document, not both.');
  if (all || excel) throw no('Standard output takes one file as it is: no --all or --excel.');
}
