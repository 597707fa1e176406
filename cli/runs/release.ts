import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Entity } from '../../core/config/entities.ts';
import { whyNotReleased, whyPublished } from '../../core/export/release-rules.ts';
import { createManifests, unlessEarlier } from '../data/manifests.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target } from '../support/target.ts';
import { findRun } from './find-run.ts';
import type { FollowCommandOptions } from './follow.ts';
import { afterStart, startNamed } from './start.ts';

interface ReleaseOptions extends FollowCommandOptions {
  reason: string;
  newNormal?: boolean;
  wait?: boolean;
}

/** Registers `release`. */
export function addRelease(command: Command): void {
  command
    .argument('<run>', 'name or ARN of the execution that ended as FileQuarantined, or an entity: its newest run')
    .requiredOption('--reason <text>', 'why the file is right; stays beside it in the bucket')
    .option('--new-normal', 'from now on guards compare with this file and later ones alone')
    .option('--wait', 'follow the release to its end; Ctrl-C stops following, never the release')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(release);
  withExamples(command, {
    'release meetings-20261120T020000Z-1a2b3c --reason "Holidays" --deployment prod --wait': 'readers get this file',
    'release meetings --reason "Archived" --new-normal --deployment prod':
      'the same, and so many rows are usual from now on',
  });
}

async function release(named: string, options: ReleaseOptions): Promise<void> {
  const { reason, newNormal = false } = options;
  if (reason.trim() === '' || reason.length > 500)
    throw new CommandError('--reason takes a sentence of at most 500 characters.', USAGE);
  const target = await connect(options);
  const { entity, name, status } = await findRun(target, named);
  if (!entity) throw new CommandError(`The input of ${name} names no entity, so there is nothing to release.`, USAGE);
  if (status === 'RUNNING')
    throw new CommandError(`${name} is under way: ${commandFor(`follow ${quoted(name)}`, options)}`, USAGE);
  const stays = await judge(target, entity, name, newNormal);
  const by = `${userInfo().username}@${hostname()}`.slice(0, 200);
  const input = { release: name, reason, by, ...(newNormal && { newNormal }) };
  warnUnsettled(target);
  const started = await startNamed(target, entity, input, options);
  printErr(`${started.run} releases ${name}.${stays}`);
  await afterStart(target, [started], options);
}

/** @returns what the release will not move; @throws CommandError (exit code 2) where there is nothing to release */
async function judge(target: Target, entity: Entity, run: string, newNormal: boolean): Promise<string> {
  const manifests = createManifests(target);
  const manifest = (await manifests.manifestOfRun(entity, run))?.manifest;
  const unreleasable = whyNotReleased(run, manifest, newNormal);
  if (!manifest || unreleasable !== undefined) throw new CommandError(unreleasable ?? '', USAGE);
  const { date, kind } = manifest;
  const ofDate = await unlessEarlier(manifests.pointer(entity, date), printErr);
  const latest = kind === 'partial' ? undefined : await unlessEarlier(manifests.pointer(entity, 'latest'), printErr);
  const published = whyPublished(manifest, ofDate, kind === 'partial' ? [] : [latest]);
  if (published !== undefined) throw new CommandError(published, USAGE);
  if (!latest || latest.date <= date) return '';
  return ` It becomes ${entity} of ${date}; the latest stays that of ${latest.date}.`;
}
