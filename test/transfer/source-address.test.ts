import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { Link } from '../../transfer/source/open.ts';
import { Store } from '../../transfer/store/store.ts';
import { portOf } from '../support/loopback.ts';
import { EXPIRED } from '../support/origin/origin.ts';
import { TROUBLE } from '../support/strict-store/strict-store.ts';
import { IMPATIENT, PART } from '../support/transfer-limits.ts';
import { always, NOTHING, transferSuite } from '../support/transfers.ts';

/** Tests requests to addresses that redirect or fail. `guard.test.ts` tests which addresses are allowed. */

const SIZE = 12 * PART + 345;
const { transfers, expectStored, expectNothing } = await transferSuite();

test('requests one new address if two connections find it expired, at any interval', async () => {
  for (let later = 0; later < 8; later += 1) {
    let asked = 0;
    const { signal } = new AbortController();
    const link = new Link(async () => {
      asked += 1;
      return `address ${asked}`;
    }, signal);
    const address = await link.current(signal);
    const again = async (ticks: number) => {
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      link.expire(address);
      return link.current(signal);
    };

    const fresh = await Promise.all([again(0), again(later)]);

    expect(fresh).toEqual(['address 2', 'address 2']);
  }
});

test('a transfer that fails ends after its request for an address, which may be refreshing a token', async () => {
  const stopped = vi.spyOn(Store.prototype, 'close');
  const ended = vi.spyOn(Store.prototype, 'abort');
  const asked = Promise.withResolvers<void>();
  const file = transfers.origin.file({ size: SIZE });
  file.setScript(({ number }) => ({ 1: {}, 2: EXPIRED })[number] ?? { waitFor: asked.promise });
  let endedEarlier: number | undefined;
  const address = async () => {
    if (file.requests.length === 0) return file.url;
    asked.resolve();
    while (stopped.mock.calls.length === 0) await turn();
    for (let turns = 0; turns < 100; turns += 1) await turn();
    endedEarlier = ended.mock.calls.length;
    return file.url;
  };

  const ran = await transfers.transferOf(file, {
    address,
    faults: ({ partNumber = 0 }) => (partNumber > 1 ? TROUBLE.accessDenied : undefined),
  });

  expectNothing(ran, 'store-denied');
  expect(endedEarlier).toBe(0);
});

describe('an address that redirects', () => {
  const to = (Location: string) => always({ status: 302, headers: { Location } });
  const redirecting = (address: string) => transfers.origin.file({ size: 0, script: to(address) }).url;

  function chain(redirects: number) {
    const target = transfers.origin.file({ size: SIZE, seed: 5 });
    let url = target.url;
    for (let hop = 0; hop < redirects; hop += 1) {
      url = redirecting(hop % 2 === 0 ? url : new URL(url).pathname);
    }
    return { target, address: async () => url };
  }

  test('is followed over three redirects, without a credential', async () => {
    const { target, address } = chain(3);

    const ran = await transfers.transferOf(target, { address });

    expectStored(ran);
    expect(Object.keys(target.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'range',
    ]);
  });

  test('is followed to a name in UTF-8 that is not encoded', async () => {
    const target = transfers.origin.file({ size: SIZE });
    const address = async () => redirecting(`${target.url}&name=לידים`);

    expectStored(await transfers.transferOf(target, { address }));
    expect(target.requests[0]?.path).toMatch(/&name=%D7%9C%D7%99%D7%93%D7%99%D7%9D$/);
  });

  test('is refused at the fourth redirect', async () => {
    const { target, address } = chain(4);

    const ran = await transfers.transferOf(target, { address });

    expectNothing(ran, 'address-rejected');
    expect(target.requests).toEqual([]);
  });

  test('is refused if it leads elsewhere', async () => {
    const ran = await transfers.transferOf({ size: SIZE, script: to('https://evil.example/file') });

    expect(ran.outcome).toBe('address-rejected');
    expect(transfers.leftovers(ran)).toEqual(NOTHING);
    expect(ran.requests).toHaveLength(1);
  });
});

test.each([
  ['names an IP address', 'https://10.0.0.1/file'],
  ['names a host of this machine, as DNS may after the check', 'https://localhost/file'],
])('an address that %s is refused in a deployment on AWS', async (_what, address) => {
  const policy = { hosts: ['.example.com', 'localhost'], local: false };

  const ran = await transfers.transferOf({ size: SIZE }, { policy, address: async () => address });

  expectNothing(ran, 'address-rejected');
  expect(ran.requests).toEqual([]);
});

describe('an origin that is unreachable', () => {
  test('and refuses connections ends in source-unavailable', async () => {
    const ran = await transfers.transferOf({ size: 1 }, { address: async () => 'http://127.0.0.1:1/file' });

    expectNothing(ran, 'source-unavailable');
    expect(String(ran.error)).toContain('ECONNREFUSED');
  });

  test('and never completes the handshake ends in source-unavailable after five tries', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
    });
    const port = await portOf(server);

    const ran = await transfers.transferOf(
      { size: 1 },
      { address: async () => `https://127.0.0.1:${port}/`, limits: IMPATIENT },
    );

    expectNothing(ran, 'source-unavailable');
    expect(connections).toBe(5);
    expect(String(ran.error)).toContain('no connection within 0.15 seconds');
  });
});
