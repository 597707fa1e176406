import { basename } from 'node:path';
import type { Command } from 'commander';
import { createLogUpdate } from 'log-update';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { outputArgument, pathArgument, withExamples } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type TargetOptions } from '../support/target.ts';
import { bytesText, manyText, movedText, plainLine } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { downloadInto, downloadTo, wholeOutput } from './download-file.ts';
import { findManifest, type Which } from './find.ts';
import { createManifests } from './manifests.ts';
import { refuseExisting } from './part.ts';
import { remarksOf } from './remarks.ts';
import { addWhich } from './which-options.ts';

interface Options extends TargetOptions, Which {
  output?: string;
  force?: boolean;
  json?: boolean;
}

/** Registers `download`, which changes nothing in the deployment. */
export function addDownload(command: Command): void {
  const described = addWhich(command)
    .option(
      '-o, --output <file>',
      'default: ENTITY-DATE with the ending of the file (leads-2026-11-20.csv) in this directory; - is standard output',
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
  });
}

async function download(entity: Entity, options: Options): Promise<void> {
  const { output, force = false, json = false } = options;
  if (output === '-' && json)
    throw new CommandError('Standard output holds the file or the document, not both.', USAGE);
  // First, because calls of AWS take seconds.
  if (output !== undefined && output !== '-') await refuseExisting(output, force);
  const target = await connect(options);
  const manifest = await findManifest(createManifests(target), entity, options);
  if (output === '-') {
    await downloadInto(target, manifest, wholeOutput());
    for (const remark of remarksOf(manifest)) printErr(`Warning: ${remark}`);
    return printErr(`Whole: ${factsOf(manifest)}.`);
  }
  const path = output ?? pathArgument(`${entity}-${manifest.date}${extensionsOf(manifest.file.key)}`);
  const row = progressRow(plainLine(path));
  const words = `Stopped. What is here stays in ${basename(path)}.part: the same command goes on with it.`;
  const { resumedAt } = await untilInterrupted(words, (signal) =>
    downloadTo(target, manifest, path, { force, onProgress: row.show, signal }).finally(row.end),
  );
  const { date, execution, file } = manifest;
  const { bytes, rows, crc32 } = file;
  const { state, kind } = manifest;
  const document = {
    entity,
    date,
    run: execution,
    state,
    kind,
    file: path,
    bytes,
    rows,
    crc32,
    resumedAt,
    whole: true,
  };
  const went = resumedAt > 0 ? `, of which ${bytesText(resumedAt)} were here already` : '';
  process.stdout.write(`${json ? JSON.stringify(document) : `${plainLine(path)}: ${factsOf(manifest)}${went}.`}\n`);
  if (!json) for (const warning of [...remarksOf(manifest), ...manifest.warnings]) printErr(`Warning: ${warning}`);
}

/** `.csv`, `.csv.gz` */
function extensionsOf(key: string): string {
  return /\.[^/]*$/.exec(basename(key))?.[0] ?? '';
}

function factsOf({ entity, date, execution, file }: Manifest): string {
  const rows = file.rows === null ? '' : `${manyText(file.rows, 'row')}, `;
  return `${entity} of ${date}, ${rows}${bytesText(file.bytes)}, size and CRC-32 as the manifest of ${plainLine(execution)} says`;
}

/** One live row on a terminal, nothing elsewhere. */
function progressRow(path: string) {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: () => undefined, end: () => undefined };
  const update = createLogUpdate(stderr);
  let shownAt = 0;
  return {
    show: (moved: { bytes: number; totalBytes: number }) => {
      if (performance.now() - shownAt < 100) return;
      shownAt = performance.now();
      update(`${path}: ${movedText(moved)} (${Math.floor((moved.bytes / moved.totalBytes) * 100)} %)`);
    },
    end: () => update.clear(),
  };
}
