import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { crc32Text } from '../../transfer/base/crc32.ts';
import type { Resume, TransferOptions } from '../../transfer/base/types.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import type { OriginFile } from '../support/origin/origin.ts';
import { PART, type SecondStore, startSecondStore, toTheEnd } from './support/second-store.ts';
import { ensureVersitygw } from './support/versitygw.ts';

/** How a file was moved, by its last upload: in one request, in ranges, or in one piece. */
const strategyOf = (last: Resume | null) => (last === null ? 'small' : last.etag === null ? 'single' : 'ranged');

/** Tests the engine with an independent S3 server, which checks what AWS checks. */

const found = await ensureVersitygw();
if ('missing' in found) process.stderr.write(`SKIPPED: ${found.missing}.\n`);
const program = 'program' in found ? found.program : '';

describe.skipIf('missing' in found)('the engine against versitygw', () => {
  let world: SecondStore;
  let count = 0;
  let key = '';

  beforeAll(async () => {
    world = await startSecondStore(program);
  });
  afterAll(() => world?.stop());
  beforeEach(() => {
    count += 1;
    key = `runs/${count}/leads.csv`;
  });

  /** Expects that the object equals the file, the store has measured it as a whole, and no upload is left. */
  async function expectStored(file: OriginFile): Promise<void> {
    const { sha256, crc32 } = file.digests();
    const object = { sha256, crc32: crc32Text(crc32), contentType: 'text/csv', checksumType: 'FULL_OBJECT' };
    expect(await world.object(key)).toEqual(object);
    expect(await world.uploads(key)).toEqual([]);
  }

  async function expectNothing(): Promise<void> {
    expect(await world.object(key)).toBeUndefined();
    expect(await world.uploads(key)).toEqual([]);
  }

  it.each([
    ['small', 0, {}],
    ['small', 1, {}],
    ['small', PART, {}],
    ['ranged', PART + 1, {}],
    ['ranged', 6 * PART + 12_345, {}],
    ['single', 4 * PART + 7, { etag: null }],
    ['single', 4 * PART, { script: () => ({ ignoreRange: true }) }],
    ['single', 3 * PART + 7, { script: () => ({ framing: 'chunked', ignoreRange: true }) as const }],
    ['small', 1000, { script: () => ({ framing: 'chunked', ignoreRange: true }) as const }],
  ] as const)('stores (%s) a file of %i bytes', async (strategy, size, more) => {
    const file = world.origin.file({ size, ...more });

    let last: Resume | null = null;
    const upload = (open: Resume | null) => {
      last = open ?? last;
    };

    const stored = await transfer(world.options(key, file.url, { observer: { upload } }));

    expect(strategyOf(last)).toBe(strategy);
    expect(stored).toMatchObject({ key, bytes: size, crc32: file.digests().crc32 });
    await expectStored(file);
  });

  it.each([
    ['ranged', {}],
    ['single', { etag: null }],
    ['single', { script: () => ({ framing: 'chunked', ignoreRange: true }) as const }],
  ] as const)('continues (%s) from the stored parts in each invocation', async (strategy, more) => {
    const file = world.origin.file({ size: 6 * PART + 99, ...more });
    const options = world.options(key, file.url, { connections: { initial: 1, most: 1 } });

    const { stored, calls, last } = await toTheEnd(options);

    expect(strategyOf(last)).toBe(strategy);
    expect(stored.bytes).toBe(file.size);
    expect(calls).toBeGreaterThan(3);
    await expectStored(file);
  });

  it('finds its own object at the key, and reports it as stored', async () => {
    const file = world.origin.file({ size: 2 * PART });
    await transfer(world.options(key, file.url));

    expect(await transfer(world.options(key, file.url))).toMatchObject({ bytes: file.size });
    await expectStored(file);
  });

  it('does not replace another object at the key', async () => {
    const first = world.origin.file({ size: 2 * PART });
    const second = world.origin.file({ size: 2 * PART });
    await transfer(world.options(key, first.url));

    expect(await outcomeOf(second.url)).toBe('conflict');
    await expectStored(first);
  });

  it('restarts if the file changed, and aborts the upload of the old one', async () => {
    const file = world.origin.file({ size: 6 * PART, script: ({ number }) => (number > 1 ? { etag: '"other"' } : {}) });

    // With one connection, no part is in transit when the upload is aborted.
    expect(await outcomeOf(file.url, { connections: { initial: 1, most: 1 } })).toBe('changed');
    await expectNothing();
    file.setScript(() => undefined);
    await transfer(world.options(key, file.url));

    await expectStored(file);
  });

  it('leaves nothing of an upload that is aborted twice', async () => {
    const file = world.origin.file({ size: 6 * PART });
    const options = world.options(key, file.url, { limits: { bufferBytes: PART, recordFromBytes: 0 } });
    let resume: Resume | null = null;
    const upload = (open: Resume | null) => {
      resume = open;
    };
    await transfer({ ...options, observer: { upload } });
    if (!resume) throw new Error('no upload was begun');
    expect(await world.uploads(key)).toEqual([key]);

    await abortUpload(options, resume);
    await abortUpload(options, resume);

    await expectNothing();
  });

  /** The reason of the failure. Cleans up afterwards as the step does. */
  async function outcomeOf(url: string, more: Partial<TransferOptions> = {}): Promise<string> {
    let open: Resume | null = null;
    const upload = (resume: Resume | null) => {
      open = resume;
    };
    const options = world.options(key, url, { ...more, observer: { upload } });
    const outcome = await transfer(options).then(
      () => 'stored',
      (error: { reason?: string }) => error.reason ?? String(error),
    );
    if (open) await abortUpload(options, open);
    return outcome;
  }
});
