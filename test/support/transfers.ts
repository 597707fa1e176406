import { afterAll, expect } from 'vitest';
import type { Limits } from '../../transfer/base/limits.ts';
import { TransferError } from '../../transfer/base/transfer-errors.ts';
import type { Resume, Stored, StoreOptions, TransferOptions } from '../../transfer/base/types.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import { trustedCertificate } from './certificate.ts';
import { type OriginFile, startOrigin } from './origin/origin.ts';
import type { Behaviour, FileOptions } from './origin/types.ts';
import { startStrictStore } from './strict-store/strict-store.ts';
import type { Fault, FaultScript, Operation, StoreOptions as StrictOptions } from './strict-store/types.ts';
import { KIB, LIMITS, PART } from './transfer-limits.ts';

export interface Changes extends Partial<Omit<TransferOptions, 'store' | 'limits' | 'observer'>> {
  key?: string;
  store?: Partial<StoreOptions>;
  limits?: Partial<Limits>;
  faults?: FaultScript;
  observer?: TransferOptions['observer'];
}

/** How a transfer ended, and what both sides recorded. */
export type Ran = Awaited<ReturnType<Transfers['transferOf']>>;

export type Transfers = Awaited<ReturnType<typeof startTransfers>>;

/** One origin and one store for a test file. Every transfer gets its own key. */
export async function startTransfers(options: StrictOptions = {}, originTls?: Parameters<typeof startOrigin>[0]) {
  const origin = await startOrigin(originTls);
  const store = await startStrictStore({ minPartBytes: PART, ...options });
  const scripts = new Map<string, FaultScript>();
  store.settings.faults = (request) => scripts.get(request.key)?.(request);
  let count = 0;

  const storeOptions = (changes: Partial<StoreOptions> = {}): StoreOptions => ({
    bucket: 'exports',
    region: 'eu-west-1',
    endpoint: store.endpoint,
    credentials: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }),
    objectChecksum: true,
    ...changes,
  });

  /** Moves a file. If that fails, cleans up as the step does. */
  const transferOf = async (of: FileOptions | OriginFile, changes: Changes = {}) => {
    const file = 'requests' in of ? of : origin.file(of);
    count += 1;
    const { key = `runs/${count}/file.csv`, faults, ...rest } = changes;
    if (faults) scripts.set(key, faults);
    const before = { requests: file.requests.length, calls: store.calls.length };
    const seen = {
      /** How often the address was requested. */
      asks: 0,
      restarts: 0,
      /** Every upload that the observer received; `null` for no open upload. */
      uploads: [] as (Resume | null)[],
      progress: [] as { bytes: number; total: number | null }[],
    };
    const options: TransferOptions = {
      policy: { hosts: [], local: true },
      nameObject: (_head, first) => (isPage(first) ? { refuse: 'A page came.' } : { key, contentType: 'text/csv' }),
      maxBytes: 1024 ** 4,
      allowUndeclaredEnd: false,
      connections: 4,
      secondsLeft: () => 900,
      ...rest,
      address: async () => {
        seen.asks += 1;
        return changes.address ? changes.address() : file.url;
      },
      store: storeOptions(changes.store),
      limits: { ...LIMITS, ...changes.limits },
      observer: {
        upload: (resume) => {
          seen.uploads.push(resume);
          changes.observer?.upload?.(resume);
        },
        request: (side) => changes.observer?.request?.(side),
        progress: (bytes, total) => {
          seen.progress.push({ bytes, total });
          changes.observer?.progress?.(bytes, total);
        },
      },
    };
    const open = () => (seen.uploads.length > 0 ? seen.uploads.at(-1) : changes.resume) ?? null;
    /** Aborts the open upload, without faults at the end or if the faults prevent it. */
    const cleanUp = async (atEnd: boolean): Promise<void> => {
      const upload = open();
      if (atEnd) scripts.delete(key);
      if (!upload) return;
      const abort = () => abortUpload({ ...options, secondsLeft: () => 900 }, upload);
      await abort().catch(async () => {
        scripts.delete(key);
        await abort();
        if (faults) scripts.set(key, faults);
      });
    };
    let ended = await outcomeOf(options);
    // A file that changed begins again, as in the step.
    for (; ended.outcome === 'changed' && seen.restarts < 5; ended = await outcomeOf(options)) {
      await cleanUp(false);
      seen.uploads.push(null);
      seen.restarts += 1;
      Object.assign(options, { resume: null, inOnePiece: seen.restarts >= 3 });
    }
    const resume = open();
    if (ended.error !== undefined) await cleanUp(true);
    const begun = seen.uploads.findLast((upload) => upload !== null);
    const object = store.object(key);
    const calls = store.calls.slice(before.calls).filter((call) => call.key === key);
    return {
      ...ended,
      ...seen,
      resume,
      /** `small`: one PutObject. `ranged`, `single`: an upload in parts, by ranges or in one piece. */
      strategy: begun === undefined ? 'small' : begun?.etag === null ? 'single' : 'ranged',
      key,
      file,
      /** Requests of this call alone. */
      requests: file.requests.slice(before.requests),
      calls,
      callsOf: (operation: Operation) => calls.filter((call) => call.operation === operation),
      equal: object?.body.equals(file.bytes()) ?? false,
      body: object?.body,
      contentType: object?.headers['content-type'],
    };
  };

  return {
    origin,
    store,
    storeOptions,
    transferOf,
    /** Uploads that are open at a key. */
    open: (key: string) => store.uploads().filter((upload) => upload.key === key),
    /** The remains of a transfer that did not store its file, except uploads whose id was lost in transit. */
    leftovers: (ran: Pick<Awaited<ReturnType<typeof transferOf>>, 'key' | 'uploads' | 'body'>) => {
      // No process knows an upload whose first answer was lost or came too late.
      const known = new Set(ran.uploads.map((upload) => upload?.uploadId));
      const uploads = store.uploads().filter(({ key, id }) => key === ran.key && known.has(id));
      return { uploads, object: ran.body !== undefined };
    },
    stop: async () => {
      await origin.stop();
      await store.stop();
    },
  };
}

/** Transfers for one test file, stopped after its last test, and the expectations of every transfer. */
export async function transferSuite() {
  const transfers = await startTransfers();
  afterAll(() => transfers.stop());

  return {
    transfers,
    /** Expects an object with the bytes of the file, a reported checksum, and no open upload. */
    expectStored: (ran: Ran): void => {
      expect(ran.outcome).toBe('stored');
      expect(ran.equal).toBe(true);
      expect(ran.stored?.crc32).toBe(ran.file.digests().crc32);
      expect(transfers.open(ran.key)).toEqual([]);
    },
    /** Expects an end with this reason, without an object or an upload. */
    expectNothing: (ran: Ran, reason: string): void => {
      expect(ran.outcome).toBe(reason);
      expect(transfers.leftovers(ran)).toEqual(NOTHING);
      // A message may contain no address, no query and no byte of a body.
      expect(String((ran.error as TransferError).message)).not.toMatch(/127\.0\.0\.1|signature|secret|<|html/i);
    },
  };
}

export const NOTHING = { uploads: [], object: false };

interface Ended {
  /** `stored`, `unfinished`, the reason of a TransferError, or another error. */
  outcome: string;
  stored: Stored | undefined;
  error: unknown;
}

async function outcomeOf(options: TransferOptions): Promise<Ended> {
  try {
    const result = await transfer(options);
    return { outcome: result ? 'stored' : 'unfinished', stored: result ?? undefined, error: undefined };
  } catch (error) {
    const outcome = error instanceof TransferError ? error.reason : `threw ${error}`;
    return { outcome, stored: undefined, error };
  }
}

const isPage = (first: Uint8Array) => /^\s*<(!doctype|html|\?xml)/i.test(Buffer.from(first).toString('latin1'));

/** The sizes of TLS records for each kind of origin. They equal the sizes of reads. */
const RECORDS = { http: undefined, tls: 16 * KIB, small: 4 * KIB, tiny: 512 };
export type Wire = keyof typeof RECORDS;

/** An origin for each kind of connection, until the end of the test file. */
export async function transfersByWire(): Promise<Record<Wire, Transfers>> {
  const certificate = trustedCertificate();
  const started = Object.entries(RECORDS).map(async ([wire, recordBytes]) => {
    const transfers = await startTransfers({}, recordBytes === undefined ? undefined : { certificate, recordBytes });
    afterAll(() => transfers.stop());
    return [wire, transfers] as const;
  });
  return Object.fromEntries(await Promise.all(started)) as Record<Wire, Transfers>;
}

/** The file without ranges, and also without a length. */
export const WHOLE: Behaviour = { ignoreRange: true };
export const CHUNKED: Behaviour = { ...WHOLE, framing: 'chunked' };
/** One connection, so that parts move in order. */
export const ONE: Changes = { connections: 1 };

/** Uses one behaviour for every answer. */
export const always = (behaviour: Behaviour) => () => behaviour;

/** Makes the first calls of one operation (of each part) fail. */
export function failing(operation: Operation, fault: Fault, times = Number.POSITIVE_INFINITY): FaultScript {
  return (request) => (request.operation === operation && request.attempt <= times ? fault : undefined);
}
