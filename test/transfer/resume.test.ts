import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS as IN_LIFE } from '../../transfer/base/limits.ts';
import type { Resume } from '../../transfer/base/types.ts';
import { Store } from '../../transfer/store/store.ts';
import { abortUpload } from '../../transfer/transfer.ts';
import { inOrder } from '../support/origin/origin.ts';
import type { Behaviour, OriginScript } from '../support/origin/types.ts';
import type { Fault, FaultScript, Operation } from '../support/strict-store/types.ts';
import { LIMITS, PART, secondsFor } from '../support/transfer-limits.ts';
import { CHUNKED, type Changes, failing, ONE, type Ran, transferSuite, WHOLE } from '../support/transfers.ts';

/** Tests a file that takes longer than the life of one process. */

/** Two parts for each of four connections, so that every part has the minimum size. */
const PARTS = 8;
const SIZE = PARTS * PART - 5;
const STRATEGIES: [string, Behaviour][] = [
  ['with ranges', {}],
  ['without ranges', WHOLE],
  ['of unknown length', CHUNKED],
];
const { transfers, expectStored } = await transferSuite();

/** The engine's timers for the end of a process, by their length: no other timer is as long. */
const ends = new Map<number, () => void>();
const DAY = 86_400;
/** The time after which a fault is certainly in effect, even on a busy machine. */
const SOON_MS = 100;
/** The time that the engine reserves for an orderly end. */
const ORDERLY_END_MS = 8000;
const { setTimeout } = globalThis;

beforeAll(() => {
  const recorded = (callback: () => void, ms = 0) => {
    if (ms > (DAY / 2) * 1000) ends.set(ms, callback);
    return setTimeout(callback, ms);
  };
  globalThis.setTimeout = Object.assign(recorded, setTimeout);
});
afterAll(() => {
  globalThis.setTimeout = setTimeout;
});

let lives = 0;

/** A process whose time ends when a test calls `end`. */
class Life {
  readonly #seconds = DAY + ++lives;
  /** The end of the time, on the clock of `performance`. */
  over = Number.POSITIVE_INFINITY;

  secondsLeft = (): number => this.#seconds;

  end = (): void => {
    if (Number.isFinite(this.over)) return;
    this.over = performance.now() + SOON_MS;
    setTimeout(() => ends.get(this.#seconds * 1000 - ORDERLY_END_MS)?.(), SOON_MS);
  };

  /** A store fault with which the process ends: at one operation, from one attempt on. */
  endsAt(operation: Operation, fault: Fault, from = 1): FaultScript {
    return (request) => {
      if (request.operation !== operation || request.attempt < from) return undefined;
      this.end();
      return fault;
    };
  }

  /** An origin behaviour with which the process ends: at one request. */
  endsAtRequest(of: number, behaviour: Behaviour): OriginScript {
    return ({ number }) => {
      if (number !== of) return undefined;
      this.end();
      return behaviour;
    };
  }
}

const partsSent = (ran: Ran) => ran.callsOf('UploadPart').map(({ partNumber = 0 }) => partNumber);

/** Continues a transfer in the next process, without the faults of the one before. */
const next = (ran: Ran, changes: Changes = {}) =>
  transfers.transferOf(ran.file, { key: ran.key, resume: ran.resume, faults: () => undefined, ...changes });

/** Continues the transfer call by call until the file is stored. */
async function inCalls(first: Ran, changes: () => Changes, most = 40): Promise<Ran[]> {
  const all = [first];
  for (let last = first; last.outcome === 'unfinished' && all.length < most; all.push(last)) {
    last = await next(last, changes());
  }
  return all;
}

describe('time that runs out between two parts', () => {
  test.each(STRATEGIES)('(%s): keeps the stored parts, and later calls complete the file', async (_name, behaviour) => {
    const soon = () => ({ secondsLeft: secondsFor(5) });
    const first = await transfers.transferOf({ size: SIZE, script: () => behaviour }, soon());

    const all = await inCalls(first, soon);

    expect(first.outcome).toBe('unfinished');
    expect(all.length).toBeGreaterThan(2);
    expectStored(all.at(-1) as Ran);
    // A started part is not given up. Only a last part of unknown length is sent again, because more may follow.
    const again = behaviour.framing === 'chunked' ? [PARTS] : [];
    expect(all.flatMap(partsSent).toSorted((a, b) => a - b)).toEqual([
      ...Array.from({ length: PARTS }, (_, index) => index + 1),
      ...again,
    ]);
    expect(all.flatMap((ran) => ran.callsOf('CompleteMultipartUpload'))).toHaveLength(1);
    expect(all.every(({ restarts }) => restarts === 0)).toBe(true);
  });

  test('with no time at all: requests nothing and keeps the upload', async () => {
    const paused = await transfers.transferOf({ size: SIZE }, { secondsLeft: secondsFor(8) });
    const none = await next(paused, { secondsLeft: () => 0 });

    expect(none.outcome).toBe('unfinished');
    expect(none.resume).toEqual(paused.resume);
    expect(none.requests).toEqual([]);
    expectStored(await next(none));
  });
});

/** A process that lives for a part of a second by the real clock. */
function lifeOf(seconds: number): () => number {
  const end = performance.now() + seconds * 1000;
  return () => (end - performance.now()) / 1000;
}

const PAUSE = { status: 503, headers: { 'Retry-After': '9' } };
const LONG_WAITS: Changes = { limits: { longestWaitSeconds: 10 } };

describe.concurrent('time that runs out in the middle of a request', () => {
  test.each(STRATEGIES)(
    '(%s): ends as unfinished before its process does, and the next call keeps the parts',
    async (_name, behaviour) => {
      const file = transfers.origin.file({ size: SIZE, script: () => ({ ...behaviour, bytesPerSecond: 200_000 }) });
      const life = new Life();
      // More bytes than one part for each connection have arrived, so a part is stored.
      const observer = { progress: (bytes: number) => bytes > SIZE / 2 && life.end() };
      const first = await transfers.transferOf(file, { secondsLeft: life.secondsLeft, observer });

      expect(first.outcome).toBe('unfinished');
      expect(performance.now() - life.over).toBeLessThan(ORDERLY_END_MS);
      const [kept] = transfers.open(first.key);
      file.setScript(() => behaviour);
      const ran = await next(first);

      expectStored(ran);
      expect(kept?.parts).toBeGreaterThan(0);
      expect(partsSent(ran)).toHaveLength(PARTS - (kept?.parts ?? 0));
    },
  );

  const ofPart4 = (life: Life, fault: Fault): Changes => {
    const silent = life.endsAt('UploadPart', fault);
    return { faults: (request) => (request.partNumber === 4 ? silent(request) : undefined) };
  };
  test.each<[what: string, of: (life: Life) => [Changes, OriginScript?]]>([
    ['the origin is silent', (life) => [ONE, life.endsAtRequest(2, { stallAfter: 0 })]],
    ['the origin asks for a pause', (life) => [{ ...ONE, ...LONG_WAITS }, life.endsAtRequest(2, PAUSE)]],
    ['the store is silent', (life) => [ofPart4(life, 'stall')]],
    ['the store does not answer', (life) => [ofPart4(life, 'stallAnswer')]],
  ])('while %s', async (_what, of) => {
    const life = new Life();
    const [changes, script = () => undefined] = of(life);

    const first = await transfers.transferOf({ size: SIZE, script }, { ...changes, secondsLeft: life.secondsLeft });

    expect(first.outcome).toBe('unfinished');
    expectStored(await next(first));
  });

  test('of a process that has less than a second', async () => {
    const file = transfers.origin.file({ size: SIZE, script: () => ({ stallAfter: 0 }) });
    const first = await transfers.transferOf(file, { secondsLeft: lifeOf(0.4) });

    expect(first.outcome).toBe('unfinished');
    file.setScript(() => ({}));
    expectStored(await next(first));
  });

  test('during abortUpload: ends in store-unavailable', async () => {
    const life = new Life();
    const faults = life.endsAt('AbortMultipartUpload', 'stall');
    const { key, resume } = await transfers.transferOf({ size: SIZE }, { secondsLeft: secondsFor(8), faults });
    const options = { store: transfers.storeOptions(), limits: LIMITS, secondsLeft: life.secondsLeft };
    const ended = abortUpload(options, resume as Resume);

    await expect(ended).rejects.toMatchObject({ name: 'TransferError', reason: 'store-unavailable' });
    expect(performance.now() - life.over).toBeLessThan(ORDERLY_END_MS);
    expect(transfers.open(key)).toHaveLength(1);
  });

  test('before the first answer of the origin: there is no upload to resume', async () => {
    const first = await transfers.transferOf(
      { size: SIZE, script: inOrder({ delayMs: 60_000 }) },
      { secondsLeft: lifeOf(0.3) },
    );

    expect([first.outcome, first.resume]).toEqual(['unfinished', null]);
    expectStored(await next(first));
  });
});

describe('an address request that is not answered', () => {
  /** A CRM that gives that many addresses, then stays silent until it is made to fail. */
  function silentAfter(addresses: number, url: () => string) {
    const asked = Promise.withResolvers<void>();
    const silence = Promise.withResolvers<string>();
    let given = 0;
    const address = async () => {
      given += 1;
      if (given <= addresses) return url();
      asked.resolve();
      return silence.promise;
    };
    return { address, asked: asked.promise, fail: () => silence.reject(new Error('too late')) };
  }

  test('before time is up: there is no upload to resume, and a later failure is ignored', async () => {
    const file = transfers.origin.file({ size: SIZE });
    const { address, fail } = silentAfter(0, () => file.url);

    const first = await transfers.transferOf(file, { address, secondsLeft: lifeOf(0.3) });
    fail();

    expect([first.outcome, first.resume, first.requests]).toEqual(['unfinished', null, []]);
    expectStored(await next(first));
  });

  test('after the old one expired, before time is up: the next call stores the file', async () => {
    const file = transfers.origin.file({ size: SIZE, script: inOrder({}, { status: 403 }, { status: 403 }) });
    const { address, asked, fail } = silentAfter(1, () => file.url);
    const life = new Life();
    void asked.then(life.end);

    const connections = 2;
    const first = await transfers.transferOf(file, { address, connections, secondsLeft: life.secondsLeft });
    fail();

    expect([first.outcome, first.asks]).toEqual(['unfinished', 2]);
    expectStored(await next(first));
  });
});

test('stores the file if the clock is set back at any reading, without an endless loop', async () => {
  const size = 4 * PART;
  const connections = 2;
  let most = 1;
  for (let early = 1; early <= most; early += 1) {
    let looks = 0;
    const secondsLeft = () => {
      looks += 1;
      if (looks > 1000) throw new Error('The transfer spins.');
      return looks === early ? 1 : 900;
    };
    const first = await transfers.transferOf({ size }, { connections, secondsLeft });

    expectStored(first.outcome === 'unfinished' ? await next(first, { connections }) : first);
    most = Math.max(most, looks);
  }
  expect(most).toBeGreaterThan(10);
});

describe('a large file', () => {
  test('stores no part before its upload is recorded', async () => {
    const first = await transfers.transferOf({ size: SIZE }, { limits: { recordFromBytes: SIZE } });

    expect(first.outcome).toBe('unfinished');
    expect(first.uploads).toEqual([first.resume]);
    expect(transfers.open(first.key)).toMatchObject([{ parts: 0 }]);
    expectStored(await next(first, { limits: { recordFromBytes: SIZE } }));
  });

  test('is not one if it is a byte smaller than recordFromBytes', async () => {
    expectStored(await transfers.transferOf({ size: SIZE }, { limits: { recordFromBytes: SIZE + 1 } }));
  });
});

test('a file of unknown length without a stored part is inspected like a new one: a page is requested again', async () => {
  const life = new Life();
  const faults = life.endsAt('UploadPart', 'stall');
  const file = transfers.origin.file({ size: SIZE, script: () => CHUNKED });
  const first = await transfers.transferOf(file, { secondsLeft: life.secondsLeft, faults });
  const requests = file.requests.length;
  file.setScript(({ number }) => (number === requests + 1 ? { ...CHUNKED, body: '<html>Sign in</html>' } : CHUNKED));

  const ran = await next(first);

  expect(first.resume).toMatchObject({ size: null });
  expectStored(ran);
  expect([ran.restarts, ran.requests.length, ran.stored?.bytes]).toEqual([1, 2, SIZE]);
});

describe('an upload with foreign parts', () => {
  /** Adds a part to an upload without the engine. */
  async function putPart({ key, uploadId }: Resume, number: number, body: Buffer): Promise<void> {
    const { signal } = new AbortController();
    const calls = new Store(transfers.storeOptions(), { limits: IN_LIFE, random: () => 0, signal });
    await calls.putPart({ key, uploadId }, number, body);
    calls.close();
  }

  test.each(STRATEGIES.slice(0, 2))(
    '(%s): does not use parts of a wrong size or beyond the file',
    async (_name, behaviour) => {
      const first = await transfers.transferOf(
        { size: SIZE, script: () => behaviour },
        { limits: { recordFromBytes: SIZE } },
      );
      const resume = first.resume as Resume;
      await putPart(resume, 1, first.file.bytes().subarray(0, resume.partBytes));
      await putPart(resume, 2, Buffer.alloc(resume.partBytes + 1));
      await putPart(resume, 4, first.file.bytes().subarray(3 * resume.partBytes, 4 * resume.partBytes));
      await putPart(resume, 99, Buffer.alloc(resume.partBytes));

      const ran = await next(first);

      expectStored(ran);
      expect(partsSent(ran)).toContain(2);
      expect(partsSent(ran)).not.toContain(1);
      expect(partsSent(ran)).not.toContain(99);
    },
  );

  test('(without ranges): restarts because the checksum finds a part with other content', async () => {
    const first = await transfers.transferOf(
      { size: SIZE, script: () => WHOLE },
      { limits: { recordFromBytes: SIZE } },
    );
    const resume = first.resume as Resume;
    await putPart(resume, 1, Buffer.alloc(resume.partBytes));

    const ran = await next(first);

    expectStored(ran);
    expect(ran.restarts).toBe(1);
  });

  test('(of unknown length): sends a part again that is too short, because the file may go on', async () => {
    const life = new Life();
    const stall = life.endsAt('UploadPart', 'stall');
    const first = await transfers.transferOf(
      { size: SIZE, script: () => CHUNKED },
      { secondsLeft: life.secondsLeft, faults: (request) => (Number.isFinite(life.over) ? undefined : stall(request)) },
    );
    const resume = first.resume as Resume;
    const { partBytes } = resume;
    await putPart(resume, 1, first.file.bytes().subarray(0, partBytes));
    await putPart(resume, 2, first.file.bytes().subarray(partBytes, partBytes + 100));

    const ran = await next(first);

    expectStored(ran);
    expect([ran.restarts, partsSent(ran)[0]]).toEqual([0, 2]);
  });
});

describe.concurrent('time that runs out while the upload is completed', () => {
  const unfinished = (behaviour: (typeof STRATEGIES)[number][1]) => {
    const life = new Life();
    const faults = life.endsAt('CompleteMultipartUpload', 'stallAnswer');
    const own = { secondsLeft: life.secondsLeft, limits: { completeMs: 5000 }, faults };
    return transfers.transferOf({ size: SIZE, script: () => behaviour }, own);
  };

  test.each(STRATEGIES)(
    '(%s): the next call finds the object and requests nothing from the origin',
    async (_name, behaviour) => {
      const first = await unfinished(behaviour);
      const second = await next(first);

      expect(first.outcome).toBe('unfinished');
      expectStored(second);
      expect(second.requests).toEqual([]);
      expect(second.restarts).toBe(0);
    },
  );

  test.each(STRATEGIES)(
    '(%s): an object without the CRC-32 of its bytes is not taken for the file',
    async (_name, behaviour) => {
      const first = await unfinished(behaviour);
      const withoutChecksum = failing('HeadObject', { page: 'x'.repeat(SIZE) });
      const second = await next(first, { faults: withoutChecksum });

      expect(first.outcome).toBe('unfinished');
      expect([second.outcome, second.stored]).toEqual(['conflict', undefined]);
    },
  );

  test('does not start to complete an upload with too little time', async () => {
    let left = 900;
    const progress = (bytes: number) => {
      if (bytes === SIZE) left = 10;
    };
    const first = await transfers.transferOf({ size: SIZE }, { secondsLeft: () => left, observer: { progress } });
    const second = await next(first);

    expect(first.outcome).toBe('unfinished');
    expect(first.callsOf('CompleteMultipartUpload')).toEqual([]);
    expectStored(second);
    expect(second.requests).toEqual([]);
  });
});
