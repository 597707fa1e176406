import { get } from 'node:https';
import { describe, expect, test } from 'vitest';
import { agentFor } from '../../transfer/base/http.ts';
import { Blocks } from '../../transfer/source/blocks.ts';
import { Body } from '../../transfer/source/body.ts';
import { KIB, LIMITS, PART } from '../support/transfer-limits.ts';
import { transfersByWire } from '../support/transfers.ts';

const MIB = 1024 * KIB;
const byWire = await transfersByWire();

/** Parts larger than the kernel's buffers: their bytes wait for the store in this process. */
const LARGE_PARTS = { smallestPartBytes: 16 * MIB, largestPartBytes: 16 * MIB };
const SLOW = { pausesEvery: 8 * MIB, pauseMs: 100 };

test.each(['http', 'small'] as const)('does not overwrite bytes that wait for a slow store (%s)', async (wire) => {
  const faults = ({ operation }: { operation: string }) => (operation === 'UploadPart' ? SLOW : undefined);

  const ran = await byWire[wire].transferOf({ size: 32 * MIB - 77 }, { faults, limits: LARGE_PARTS, connections: 2 });

  expect(ran.outcome).toBe('stored');
  expect(ran.equal).toBe(true);
  // A part whose stored bytes differ from the measured ones is refused and sent again.
  expect(ran.callsOf('UploadPart').length).toBe(2);
});

describe('over TLS', () => {
  test('ends in incomplete if more bytes than declared arrive, in the same packet or after it', async () => {
    for (const extraBytes of [1, 100_000]) {
      const ran = await byWire.tls.transferOf({ size: 3 * PART, script: () => ({ ignoreRange: true, extraBytes }) });
      expect([extraBytes, ran.outcome, ran.body]).toEqual([extraBytes, 'incomplete', undefined]);
    }
  });

  test('reads only one body from a connection', async () => {
    const ran = await byWire.tls.transferOf({ size: 10 * PART, script: () => ({}) });

    const connections = ran.requests.map(({ connection }) => connection);
    expect(new Set(connections).size).toBe(connections.length);
  });
});

test('reads from the next address if the first one refuses the connection', async () => {
  const file = byWire.tls.origin.file({ size: 3 * MIB });
  const context = { limits: { ...LIMITS }, random: () => 0, signal: new AbortController().signal } as never;
  const body = new Body(context, new Blocks());
  const lookup = (_host: string, _options: object, found: (error: null, addresses: object[]) => void) =>
    found(
      null,
      ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 })),
    );
  const agent = agentFor('https:', { lookup: lookup as never, keepAlive: false });
  const options = { agent, onread: body.onread };
  const request = get(file.url.replace('127.0.0.1', 'localhost'), options);
  body.attach(request);
  await new Promise((resolve) => request.once('response', resolve));

  const chunks: Buffer[] = [];
  for (let chunk = await body.next(); chunk; chunk = await body.next()) chunks.push(chunk);
  request.destroy();

  expect(Buffer.concat(chunks).equals(file.bytes())).toBe(true);
});
