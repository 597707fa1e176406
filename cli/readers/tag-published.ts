import type { Deployment } from '../../core/config/deployment.ts';
import { eachOf } from '../../core/each-of.ts';
import { PUBLISHED_TAG, sharedAsFiles } from '../../core/readers/readers.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { isGone } from '../../core/storage/storage-errors.ts';
import { createManifests, ifReadable } from '../data/manifests.ts';
import type { Target } from '../support/target.ts';

/**
 * Tags what pointers name today, as a run does with what it publishes: for files that were published before somebody was to read them.
 * What has the tag already keeps it.
 * @returns the number of files
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function tagPublished(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Pick<Deployment, 'readers'>,
  warn: (sentence: string) => void,
): Promise<number> {
  const manifests = createManifests(target);
  const bucket = createBucket(target.s3, target.BucketName);
  let files = 0;
  for (const entity of sharedAsFiles(deployment)) {
    const dates = [...(await manifests.dates(entity)), 'latest'];
    const pointers = await eachOf(dates, (date) => ifReadable(manifests.pointer(entity, date), warn));
    const named = new Set(pointers.flatMap((pointer) => pointer?.manifestKey ?? []));
    await eachOf([...named], async (manifestKey) => {
      const manifest = await ifReadable(manifests.manifest(manifestKey), warn);
      if (!manifest) return;
      try {
        for (const key of [manifest.file.key, manifestKey]) await bucket.tag(key, PUBLISHED_TAG, 'true');
        files += 1;
      } catch (error) {
        if (!(error instanceof Error && isGone(error.cause))) throw error;
        // Files go before their manifests do (docs/removing-a-customer.md).
        warn(`${manifest.file.key} is gone: it is not tagged.`);
      }
    });
  }
  return files;
}
