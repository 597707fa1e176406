import {
  DeleteBucketCommand,
  DeleteObjectsCommand,
  GetObjectTaggingCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
} from '@aws-sdk/client-s3';
import type { Target } from '../../../cli/support/target.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { type Pointer, pointerSchema } from '../../../core/export/pointer.ts';
import { createBucket } from '../../../core/storage/bucket.ts';

/** Tools of the tests for the bucket, besides reading published objects. */
export function bucketTools({ s3, BucketName: Bucket }: Target) {
  return {
    pointer: async (entity: Entity, name: string): Promise<Pointer> => {
      const object = await createBucket(s3, Bucket).read(`published/entity=${entity}/${name}.json`);
      return pointerSchema.parse(JSON.parse(object?.text ?? ''));
    },
    keys: async (Prefix: string): Promise<string[]> => {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
      return Contents.map(({ Key = '' }) => Key);
    },
    tags: async (Key: string) => (await s3.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet ?? [],
    uploads: async (): Promise<string[]> => {
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.map(({ Key = '' }) => Key);
    },
    /** Empties the bucket and deletes it. */
    remove: async (): Promise<void> => {
      const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket }));
      const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
      if (Objects.length > 0) await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
      await s3.send(new DeleteBucketCommand({ Bucket }));
    },
  };
}
