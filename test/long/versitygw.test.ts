import { createHash } from 'node:crypto';
import { GetObjectCommand, HeadObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crc32Text } from '../../transfer/base/crc32.ts';
import type { Limits } from '../../transfer/base/limits.ts';
import { abortUpload } from '../../transfer/transfer.ts';
import { BUCKET } from '../support/strict-store/types.ts';
import { secondsFor } from '../support/transfer-limits.ts';
import { CHUNKED, type Changes, ONE, type Ran, transferSuite } from '../support/transfers.ts';
import { ensureVersitygw, startVersitygw } from './support/versitygw.ts';

/** Tests the engine with an independent S3 server, which checks what AWS checks. */

/** The smallest part that S3 accepts. */
const PART = 5 * 1024 * 1024;
const SECONDS = 1000;
const limits: Partial<Limits> = {
  ...{ bufferBytes: PART, smallestPartBytes: PART, largestPartBytes: PART },
  ...{ idleMs: 30 * SECONDS, firstByteMs: 30 * SECONDS, completeMs: 30 * SECONDS },
};
const program = await ensureVersitygw();
if (!program) process.stderr.write('SKIPPED: Go is not installed, so versitygw, the second S3 server, is not built.\n');
const { transfers } = await transferSuite();

describe.skipIf(!program)('the engine against versitygw', () => {
  let gateway: Awaited<ReturnType<typeof startVersitygw>>;
  beforeAll(async () => {
    gateway = await startVersitygw(program ?? '');
  });
  afterAll(() => gateway?.stop());

  /** Moves a file to versitygw. */
  const move = (of: Parameters<typeof transfers.transferOf>[0], changes: Changes = {}): Promise<Ran> =>
    transfers.transferOf(of, { ...changes, store: { endpoint: gateway.endpoint }, limits });

  const uploadsOf = async ({ key: Prefix }: Ran) =>
    (await gateway.s3.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix }))).Uploads ?? [];

  /** Expects that the object equals the file, the store has measured it as a whole, and no upload is left. */
  async function expectStored(ran: Ran, file = ran.file): Promise<void> {
    const { sha256, crc32 } = file.digests();
    const at = { Bucket: BUCKET, Key: ran.key };
    expect(await gateway.s3.send(new HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' }))).toMatchObject({
      ...{ ContentType: 'text/csv', ChecksumType: 'FULL_OBJECT', ChecksumCRC32: crc32Text(crc32) },
    });
    const { Body } = await gateway.s3.send(new GetObjectCommand(at));
    const bytes = (await Body?.transformToByteArray()) ?? '';
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    expect(await uploadsOf(ran)).toEqual([]);
  }

  it.each([
    ['small', 0, {}],
    ['small', PART, {}],
    ['ranged', PART + 1, {}],
    ['ranged', 6 * PART + 12_345, {}],
    ['single', 4 * PART + 7, { etag: null }],
    ['single', 3 * PART + 7, { script: () => CHUNKED }],
    ['small', 1000, { script: () => CHUNKED }],
  ] as const)('stores (%s) a file of %i bytes', async (strategy, size, more) => {
    const ran = await move({ size, ...more });

    expect([ran.outcome, ran.strategy]).toEqual(['stored', strategy]);
    expect(ran.stored).toMatchObject({ key: ran.key, bytes: size, crc32: ran.file.digests().crc32 });
    await expectStored(ran);
  });

  it.each([
    ['ranged', {}],
    ['single', { etag: null }],
    ['single', { script: () => CHUNKED }],
  ] as const)('continues (%s) from the stored parts in each invocation', async (strategy, more) => {
    const soon = () => ({ ...ONE, secondsLeft: secondsFor(5) });
    const all = [await move({ size: 6 * PART + 99, ...more }, soon())];
    for (let last = all[0]; last?.outcome === 'unfinished' && all.length < 40; last = all.at(-1))
      all.push(await move(last.file, { ...soon(), key: last.key, resume: last.resume }));

    const last = all.at(-1) ?? expect.unreachable();
    expect([last.outcome, all[0]?.strategy]).toEqual(['stored', strategy]);
    expect(all.length).toBeGreaterThan(1);
    await expectStored(last);
  });

  it('does not replace another object at the key', async () => {
    const first = await move({ size: 2 * PART });

    const second = await move({ size: 2 * PART }, { key: first.key });

    expect(second.outcome).toBe('conflict');
    await expectStored(second, first.file);
  });

  it('leaves nothing of an upload that is aborted twice', async () => {
    const ran = await move({ size: 6 * PART }, { ...ONE, secondsLeft: secondsFor(5) });
    const { resume } = ran;
    if (!resume || (await uploadsOf(ran)).length !== 1) throw new Error('There is not one open upload.');
    const store = transfers.storeOptions({ endpoint: gateway.endpoint });

    for (const _ of [1, 2]) await abortUpload({ store, limits, secondsLeft: () => 900 }, resume);

    expect(await uploadsOf(ran)).toEqual([]);
  });
});
