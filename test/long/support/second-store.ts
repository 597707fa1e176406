import { createHash } from 'node:crypto';
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Resume, Stored, StoreOptions, TransferOptions } from '../../../transfer/base/types.ts';
import { transfer } from '../../../transfer/transfer.ts';
import { startOrigin } from '../../support/origin/origin.ts';
import { startVersitygw } from './versitygw.ts';

/** The smallest part that S3 accepts. */
export const PART = 5 * 1024 * 1024;
const BUCKET = 'exports';

const LIMITS: TransferOptions['limits'] = {
  bufferBytes: PART,
  smallestPartBytes: PART,
  largestPartBytes: PART,
  firstBackoffMs: 10,
  largestBackoffMs: 50,
};

export type SecondStore = Awaited<ReturnType<typeof startSecondStore>>;

/** versitygw, an origin, and transfers between them. */
export async function startSecondStore(program: string) {
  const origin = await startOrigin();
  const gateway = await startVersitygw(program);
  const { accessKeyId, secretAccessKey, region } = gateway;
  const credentials = { accessKeyId, secretAccessKey };
  const s3 = new S3Client({ endpoint: gateway.endpoint, region, credentials, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const address = { bucket: BUCKET, region, endpoint: gateway.endpoint, credentials: async () => credentials };
  const store: StoreOptions = { ...address, objectChecksum: true };
  const at = (Key: string) => ({ Bucket: BUCKET, Key });
  return {
    origin,
    /** The options of a transfer of a file of the origin. */
    options: (key: string, url: string, changes: Partial<TransferOptions> = {}): TransferOptions => ({
      address: async () => url,
      policy: { hosts: [], local: true },
      nameObject: () => ({ key, contentType: 'text/csv' }),
      store,
      maxBytes: 1024 ** 4,
      allowUndeclaredEnd: false,
      connections: { initial: 4, most: 4 },
      secondsLeft: () => 900,
      limits: LIMITS,
      ...changes,
    }),
    /** The SHA-256 of the object's content, and its metadata in the store; `undefined` if it does not exist. */
    object: async (key: string) => {
      const head = await s3.send(new HeadObjectCommand({ ...at(key), ChecksumMode: 'ENABLED' })).catch(() => undefined);
      if (!head) return undefined;
      const hash = createHash('sha256');
      const { Body } = await s3.send(new GetObjectCommand(at(key)));
      for await (const chunk of (Body as AsyncIterable<Uint8Array> | undefined) ?? []) hash.update(chunk);
      const { ContentType: contentType, ChecksumCRC32: crc32, ChecksumType: checksumType } = head;
      return { sha256: hash.digest('hex'), contentType, crc32, checksumType };
    },
    /** Uploads that are open at a key. */
    uploads: async (Prefix: string) =>
      ((await s3.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix }))).Uploads ?? []).map(
        ({ Key }) => Key,
      ),
    stop: async () => {
      s3.destroy();
      await gateway.stop();
      await origin.stop();
    },
  };
}

/** Calls the engine until the file is stored, like successive invocations: time is up after some more bytes. */
export async function toTheEnd(
  options: TransferOptions,
): Promise<{ stored: Stored; calls: number; last: Resume | null }> {
  let stored = 0;
  let resume: Resume | null = null;
  let last: Resume | null = null;
  for (let calls = 1; calls <= 50; calls += 1) {
    const before = stored;
    const progress = (bytes: number) => {
      stored = Math.max(stored, bytes);
    };
    const secondsLeft = () => (stored > before ? 0 : 900);
    const upload = (open: Resume | null) => {
      resume = open;
      last = open ?? last;
    };
    const result: Stored | null = await transfer({ ...options, resume, secondsLeft, observer: { progress, upload } });
    if (result) return { stored: result, calls, last };
  }
  throw new Error('The transfer has no end.');
}
