import { hostname, userInfo } from 'node:os';
import type { Entity } from '../../core/config/entities.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { alreadyPublishedReason, unreleasableReason } from '../../core/export/release.ts';
import { diffText, keyWarnings } from '../data/diff.ts';
import { difference } from '../data/file-difference.ts';
import { publishedBefore } from '../data/find-manifest.ts';
import { createManifests, ifReadable, type Manifests } from '../data/stored-manifests.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { withPlace } from '../support/command-text.ts';
import { askHere } from '../support/confirm.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { findRunOfEntity } from './find-run.ts';
import { afterStart, startNamed } from './start-run.ts';

interface ReleaseOptions extends TargetOptions {
  date?: string;
  reason: string;
  newNormal?: boolean;
  wait?: boolean;
  yes?: boolean;
}

/**
 * `release`: shows how a quarantined file differs from the published one, then starts the execution that publishes it.
 * @throws CommandError (exit code 2) if the file cannot be released, or the answer is no
 */
export async function release(named: string, options: ReleaseOptions): Promise<void> {
  const { reason, newNormal = false } = options;
  if (reason.trim() === '' || reason.length > 500)
    throw usageError('--reason takes a sentence of at most 500 characters.');
  const target = await connect(options);
  const { entity, found } = await findRunOfEntity(target, named, options.date, 'to release');
  const { name, status } = found;
  if (status === 'RUNNING')
    throw usageError(
      `${name} is still under way, so there is no file to release yet. To follow it: ${commandFor(`follow ${quoted(name)}`, options)}`,
    );
  const manifests = createManifests(target);
  const { manifest, stays } = await judge(manifests, entity, name, newNormal);
  if (!options.yes) {
    for (const line of await differenceText(target, manifests, manifest)) printErr(withPlace(line, options));
    if (process.stdin.isTTY) await askHere(`Release ${name} to its readers?`, 'nothing was released.');
  }
  const by = `${userInfo().username}@${hostname()}`.slice(0, 200);
  const input = { release: name, reason, by, ...(newNormal && { newNormal }) };
  warnUnsettled(target);
  const started = await startNamed(target, entity, input, options);
  printErr(`${started.name} releases ${name}.${stays}`);
  await afterStart(target, [started], options);
}

/** The differences, or why the files cannot be compared. A file that cannot be compared may still be right. */
async function differenceText(target: Target, manifests: Manifests, manifest: Manifest): Promise<string[]> {
  try {
    const found = await difference(target, await publishedBefore(manifests, manifest), manifest);
    return [...diffText(found), ...keyWarnings(found).map((warning) => `Warning: ${warning}`)];
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === RUN_FAILED) return [`Not compared: ${error.message}`];
    throw error;
  }
}

/** @returns the manifest, and a note if `latest` stays; @throws CommandError (exit code 2) if no release is possible */
async function judge(manifests: Manifests, entity: Entity, run: string, newNormal: boolean) {
  const manifest = await manifests.manifestOfRun(entity, run);
  const unreleasable = unreleasableReason(run, manifest, newNormal);
  if (!manifest || unreleasable !== undefined) throw usageError(unreleasable ?? '');
  const { date, kind } = manifest.run;
  const ofDate = await ifReadable(manifests.pointer(entity, date), printErr);
  const latest = kind === 'partial' ? undefined : await ifReadable(manifests.pointer(entity, 'latest'), printErr);
  const published = alreadyPublishedReason(manifest, ofDate, kind === 'partial' ? [] : [latest]);
  if (published !== undefined) throw usageError(published);
  const stays = latest && latest.date > date;
  return {
    manifest,
    stays: stays ? ` Readers of ${date} get its file. The pointer latest stays at ${latest.date}.` : '',
  };
}
