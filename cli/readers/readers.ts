import { type Command, Option } from 'commander';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Reader } from '../../core/config/settings.ts';
import { eachOf } from '../../core/each-of.ts';
import {
  entitiesOf,
  kindOf,
  NOT_PUBLISHED,
  PUBLISHED_TAG,
  publishedValue,
  readableKeys,
  readerName,
  sharedAsFiles,
} from '../../core/readers/reader-access.ts';
import { whyWithheld } from '../../core/readers/withheld.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { isGone } from '../../core/storage/storage-errors.ts';
import { createManifests, type PublishedRun, publishedManifests } from '../data/stored-manifests.ts';
import { keyIdOf } from '../deployment-state.ts';
import { withExamples } from '../support/command-options.ts';
import { begun } from '../support/completed.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';

interface ReadersOptions extends TargetOptions {
  tag?: boolean;
}

export function addReaders(command: Command): void {
  command
    .argument('[principal]', 'account, ARN of a role or organization, as `readers` of the configuration names it')
    .addOption(
      new Option(
        '--tag',
        'let readers have files that were published before the configuration named them, or before it left out other columns; runs tag what they publish',
      ),
    )
    .action(readers);
  withExamples(command, {
    'readers 444455556666 --deployment prod > policy.json': 'the policy that a role in that account needs',
    'readers --tag --deployment prod':
      'after a deployment that shares files for the first time, or that leaves out other columns',
  });
}

async function readers(principal: string | undefined, options: ReadersOptions): Promise<void> {
  if (options.tag && principal !== undefined) {
    throw new CommandError('--tag is for all readers: leave out the principal.', USAGE);
  }
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  // Deployments of an earlier release have no `readers`.
  const { readers: all = [] } = deployed;
  if (options.tag) {
    const { tagged, withheld } = await tagPublished(target, { ...deployed, readers: all }, printErr);
    const others = withheld > 0 ? `, ${withheld} not` : '';
    return printOut(`${manyText(tagged, 'published file')} tagged${others}.`);
  }
  const reads = named(all, principal);
  const place = await sharedPlace(target);
  for (const reader of reads) {
    printErr(`${begun(readerText(reader))}, once its own account allows it by this policy too.`);
  }
  printOut(JSON.stringify(policyOf(reads, deployed, place), null, 2));
  printErr(`To try it there: ${commandToTry(reads, place)}`);
}

/** @throws CommandError (exit code 2) that lists the configured readers */
function named(all: Reader[], principal: string | undefined): Reader[] {
  const found = all.filter((reader) => readerName(reader) === principal);
  if (found.length > 0) return found;
  const names = [...new Set(all.map(readerName))].join(', ');
  const known = all.length === 0 ? 'the configuration names no readers' : `there are ${names}`;
  const wrong = principal === undefined ? 'Name a reader, or add --tag' : `There is no reader ${principal}`;
  throw new CommandError(`${wrong}: ${known}.`, USAGE);
}

/** A sentence about what a reader may read, without its full stop. */
function readerText(reader: Reader): string {
  const { principal, entities, of } = reader;
  const which = entities === 'all' ? 'all entities' : entities.join(', ');
  return `the ${kindOf(principal)} ${readerName(reader)} may read ${of.join(' and ')} of ${which}`;
}

/** The names of a deployment that occur in policies. */
interface SharedPlace {
  bucket: string;
  keyArn: string;
}

/** @throws CommandError (exit code 3) if the stack has no key */
async function sharedPlace(target: Pick<Target, 'cloudformation' | 'stack' | 'BucketName' | 'StateMachineArn'>) {
  const key = await keyIdOf(target);
  if (!key) throw new CommandError(`The stack ${target.stack} has no key: deploy this release.`, ENVIRONMENT);
  const [, partition, , region, account] = target.StateMachineArn.split(':');
  return { bucket: target.BucketName, keyArn: `arn:${partition}:kms:${region}:${account}:key/${key}` };
}

type Reads = Pick<Reader, 'entities' | 'of'>;

/**
 * The policy that a reader's role needs in its own account, because AWS checks the policies of both accounts. It is as
 * narrow as the policies of bucket and key, except that only those check the tag of published files.
 * @param reads all that the reader may read
 * @param deployment names the entities that have feeds
 */
export function policyOf(reads: Reads[], deployment: Pick<Deployment, 'entities'>, { bucket, keyArn }: SharedPlace) {
  const [, partition = 'aws', , region] = keyArn.split(':');
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  const keys = reads.map((read) => readableKeys(read, deployment));
  const plain = keys.flatMap((each) => each.plain);
  const viaS3 = {
    'kms:ViaService': `s3.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`,
    'kms:EncryptionContext:aws:s3:arn': bucketArn,
  };
  const allow = (Action: string, Resource: string | string[], Condition?: object) => {
    return { Effect: 'Allow', Action, Resource, ...(Condition && { Condition }) };
  };
  const objects = [...plain, ...keys.flatMap((each) => each.tagged)].map((key) => `${bucketArn}/${key}`);
  return {
    Version: '2012-10-17',
    Statement: [
      allow('s3:GetObject', objects),
      allow('s3:ListBucket', bucketArn, { StringLike: { 's3:prefix': plain } }),
      ...(reads.some(({ of }) => of.includes('tables')) ? [allow('s3:GetBucketLocation', bucketArn)] : []),
      allow('kms:Decrypt', keyArn, { StringEquals: viaS3 }),
    ],
  };
}

/** A command for a first test with the reader's own credentials: it reads a pointer, which names the file. */
function commandToTry([first]: Pick<Reader, 'entities'>[], { bucket }: SharedPlace): string {
  const entity = first ? entitiesOf(first)[0] : '';
  return `aws s3 cp s3://${bucket}/published/entity=${entity}/latest.json -`;
}

/**
 * Tags the files that pointers name now, as a run does. A file with a column that is left out now loses the tag.
 * @returns the number of files with the tag, and of files without
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
async function tagPublished(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Pick<Deployment, 'readers' | 'entities'>,
  warn: (sentence: string) => void,
): Promise<{ tagged: number; withheld: number }> {
  const manifests = createManifests(target);
  const bucket = createBucket(target.s3, target.BucketName);
  const files = { tagged: 0, withheld: 0 };
  for (const entity of sharedAsFiles(deployment)) {
    const plan = deployment.entities[entity];
    const { published, newest } = await publishedManifests(manifests, entity, warn);
    await eachOf(published, async (run) => {
      const why = whyWithheld(run.manifest, plan, newest);
      const { key } = run.manifest.file;
      if (!(await tag(bucket, run, why === undefined ? publishedValue(entity, plan) : NOT_PUBLISHED)))
        return warn(`${key} is gone: it is not tagged.`);
      if (why !== undefined) warn(`${key} is not tagged: it ${why}.`);
      files[why === undefined ? 'tagged' : 'withheld'] += 1;
    });
  }
  return files;
}

/** @returns whether the file exists: files are deleted before their manifests (docs/removing-a-customer.md) */
async function tag(bucket: Bucket, { manifest, manifestKey }: PublishedRun, value: string): Promise<boolean> {
  try {
    for (const key of [manifest.file.key, manifestKey]) await bucket.tag(key, PUBLISHED_TAG, value);
    return true;
  } catch (error) {
    if (error instanceof Error && isGone(error.cause)) return false;
    throw error;
  }
}
