import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import type { Reader } from '../../core/config/settings.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import { eachOf } from '../../core/each-of.ts';
import { manifestKeyOf } from '../../core/export/pointer.ts';
import {
  kindOf,
  NOT_PUBLISHED,
  publishedValue,
  readableBy,
  readerName,
  sharedAs,
  tableValue,
} from '../../core/readers/reader-access.ts';
import { withheldReason } from '../../core/readers/withheld.ts';
import { type Bucket, createBucket } from '../../core/storage/bucket.ts';
import { isObjectGone } from '../../core/storage/storage-errors.ts';
import { createManifests, publishedManifests } from '../data/stored-manifests.ts';
import { keyIdOf } from '../deployment-state.ts';
import { capitalized } from '../support/command-text.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT, usageError } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countsText, derivedObjects, keysOf } from '../tables/derived-objects.ts';

interface ReadersOptions extends TargetOptions {
  tag?: boolean;
}

/**
 * `readers`: prints the policy that the account of a reader needs, or sets the tags of all published objects.
 * @throws CommandError (exit code 2) for a reader that the configuration does not name
 */
export async function readers(principal: string | undefined, options: ReadersOptions): Promise<void> {
  if (options.tag && principal !== undefined) throw usageError('--tag is for all readers: leave out the principal.');
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  // Deployments of an earlier release have no `readers`.
  const { readers: all = [] } = deployed;
  if (options.tag) return tagAll(target, { ...deployed, readers: all });
  const reads = named(all, principal);
  const place = await sharedPlace(target);
  for (const reader of reads) {
    printErr(`${capitalized(readerText(reader))}, if this policy allows the same in the reader's own account.`);
  }
  printOut(JSON.stringify(policyOf(reads, deployed, place), null, 2));
  // The reader runs this command with its own credentials. The pointer names the file.
  const [entity] = !reads[0] || reads[0].entities === 'all' ? ENTITIES : reads[0].entities;
  printErr(
    `To try it with the credentials of the reader: aws s3 cp s3://${place.bucket}/published/entity=${entity}/latest.json -`,
  );
}

/** @throws CommandError (exit code 2) that lists the configured readers */
function named(all: Reader[], principal: string | undefined): Reader[] {
  const found = all.filter((reader) => readerName(reader) === principal);
  if (found.length > 0) return found;
  const names = [...new Set(all.map(readerName))].join(', ');
  const existing = all.length === 0 ? 'The configuration names no readers' : `The readers are ${names}`;
  const wrong = principal === undefined ? 'Name a reader, or add --tag' : `There is no reader ${principal}`;
  throw usageError(`${wrong}. ${existing}.`);
}

/** A sentence about what a reader may read, without its full stop. */
function readerText(reader: Reader): string {
  const { principal, entities, of } = reader;
  const which = entities === 'all' ? 'all entities' : entities.join(', ');
  return `the ${kindOf(principal)} ${readerName(reader)} may read ${of.join(' and ')} of ${which}`;
}

/** The names of a deployment that occur in policies. @throws CommandError (exit code 3) if the stack has no key */
async function sharedPlace(target: Pick<Target, 'cloudformation' | 'stack' | 'BucketName' | 'StateMachineArn'>) {
  const key = await keyIdOf(target);
  if (!key) throw new CommandError(`The stack ${target.stack} has no key: deploy this release.`, ENVIRONMENT);
  const [, partition, , region, account] = target.StateMachineArn.split(':');
  return { bucket: target.BucketName, keyArn: `arn:${partition}:kms:${region}:${account}:key/${key}` };
}

type SharedPlace = Awaited<ReturnType<typeof sharedPlace>>;
type Reads = Pick<Reader, 'entities' | 'of'>;

/**
 * The policy that a reader's role needs in its own account, because AWS checks the policies of both accounts. It names
 * the entities. Only the policies of bucket and key decide which of their objects the reader may read.
 * @param reads all that the reader may read
 * @param deployment names the entities that have feeds
 */
export function policyOf(reads: Reads[], deployment: Pick<Deployment, 'entities'>, { bucket, keyArn }: SharedPlace) {
  const [, partition = 'aws', , region] = keyArn.split(':');
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  const keys = reads.map((read) => readableBy(read, deployment));
  const viaS3 = {
    'kms:ViaService': `s3.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`,
    'kms:EncryptionContext:aws:s3:arn': bucketArn,
  };
  const allow = (Action: string, Resource: string | string[], Condition?: object) => {
    return { Effect: 'Allow', Action, Resource, ...(Condition && { Condition }) };
  };
  const objects = keys.flatMap(({ tagged }) => tagged.map((key) => `${bucketArn}/${key}`));
  const listed = { StringLike: { 's3:prefix': keys.flatMap(({ listed }) => listed) } };
  return {
    Version: '2012-10-17',
    Statement: [
      allow('s3:GetObject', objects),
      allow('s3:ListBucket', bucketArn, listed),
      ...(reads.some(({ of }) => of.includes('tables')) ? [allow('s3:GetBucketLocation', bucketArn)] : []),
      allow('kms:Decrypt', keyArn, { StringEquals: viaS3 }),
    ],
  };
}

/**
 * Tags what readers may have under today's column settings, as runs do. Removes the tag of everything else.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
async function tagAll(target: Place, deployment: Sharing): Promise<void> {
  const all = [...(await tagPublished(target, deployment)), ...(await tagDerived(target, deployment))];
  const tagged = all.filter((one) => one.tagged);
  const refused = all.length - tagged.length;
  printOut(`Tagged: ${countsText(tagged) || 'nothing'}.${refused > 0 ? ` Not tagged: ${refused}.` : ''}`);
}

type Place = Pick<Target, 's3' | 'BucketName'>;
type Sharing = Pick<Deployment, 'readers' | 'entities'>;

/** Files that pointers name, with their manifests. @returns the files that exist, and whether they have the tag now */
async function tagPublished(target: Place, deployment: Sharing) {
  const files: { kind: 'file'; tagged: boolean }[] = [];
  const manifests = createManifests(target);
  const bucket = createBucket(target.s3, target.BucketName);
  for (const entity of sharedAs('files', deployment)) {
    const plan = deployment.entities[entity];
    const { published, newest } = await publishedManifests(manifests, entity, printErr);
    await eachOf(published, async (manifest) => {
      const why = withheldReason(manifest, plan, newest);
      const { key } = manifest.file;
      const keys = [manifestKeyOf(entity, manifest.execution), key];
      if (!(await tag(bucket, keys, why === undefined ? publishedValue(entity, plan) : NOT_PUBLISHED)))
        return printErr(`${key} is not tagged: it no longer exists.`);
      if (why !== undefined) printErr(`${key} is not tagged: it ${why}.`);
      files.push({ kind: 'file', tagged: why === undefined });
    });
  }
  return files;
}

/** Tables, and feeds with their records. @returns those that exist, and whether they have the tag now */
async function tagDerived(target: Place, deployment: Sharing) {
  const shared = sharedAs('tables', deployment);
  if (shared.length === 0) return [];
  const bucket = createBucket(target.s3, target.BucketName);
  const all = await derivedObjects(target, deployment);
  const objects = all.filter(({ entity, kind }) => shared.includes(entity) && kind !== 'copy');
  const done = await eachOf(objects, async (object) => {
    const { entity, then, key } = object;
    const digest = settingsDigest(deployment.entities[entity]);
    const isKept = then === 'keep' && (await tag(bucket, keysOf(object), tableValue(entity, digest)));
    // A run that began under other settings may have replaced the object after it was listed.
    if (isKept && (await bucket.head(key))?.metadata.settings === digest) return [{ ...object, tagged: true }];
    const exists = await tag(bucket, keysOf(object), NOT_PUBLISHED);
    printErr(`${key} is not tagged: it ${exists ? 'was written under other column settings' : 'no longer exists'}.`);
    return exists ? [{ ...object, tagged: false }] : [];
  });
  return done.flat();
}

/**
 * Tags a file or feed, the last of `keys`, and the object that describes it. One of them may be missing: a file is
 * deleted before its manifest (docs/removing-a-customer.md), and a feed that a killed function left has no record.
 * @returns whether the last object exists
 */
async function tag(bucket: Bucket, keys: string[], value: string): Promise<boolean> {
  let exists = false;
  for (const key of keys) {
    exists = await bucket.tag(key, value).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Error && isObjectGone(error.cause)) return false;
        throw error;
      },
    );
  }
  return exists;
}
