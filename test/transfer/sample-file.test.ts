import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { LIMITS } from '../../transfer/base/limits.ts';
import { sampleFile } from '../../transfer/source/sample-file.ts';
import { portOf } from '../support/loopback.ts';
import { startOrigin } from '../support/origin/origin.ts';
import { KIB } from '../support/transfer-limits.ts';

const origin = await startOrigin();
afterAll(origin.stop);

const options = (mostBytes = 1_000_000) => ({
  policy: { hosts: [], local: true },
  mostBytes,
  signal: new AbortController().signal,
});

test('fetches a file with one GET, whole or up to mostBytes', async () => {
  const file = origin.file({ size: 600_000 });

  const whole = await sampleFile(file.url, options());
  const begin = await sampleFile(file.url, options(1000));

  expect(whole).toMatchObject({ whole: true, undeclaredEnd: false });
  expect(whole.bytes).toHaveLength(600_000);
  expect(begin).toMatchObject({ whole: false, bytes: whole.bytes.subarray(0, 1000) });
  expect(file.requests).toHaveLength(2);
});

test('does not repeat a failed request', async () => {
  const refusing = origin.file({ size: 5000, script: () => ({ status: 503 }) });

  await expect(sampleFile(refusing.url, options())).rejects.toMatchObject({ reason: 'source-unavailable' });
  expect(refusing.requests).toHaveLength(1);
});

test('refuses the same addresses as a transfer', async () => {
  const listed = { ...options(), policy: { hosts: ['files.crm.example'], local: false } };

  for (const address of ['http://files.crm.example/x', 'https://10.0.0.1/x', 'https://other.example/x'])
    await expect(sampleFile(address, listed)).rejects.toMatchObject({ reason: 'address-rejected' });
});

/** Keeps the process busy, as other load on the machine does. */
function busy(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/**
 * Sends a body, then one more byte after the client has read it. The client reads nothing for longer than the watch.
 */
async function originOf(bytes: number): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', async () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: ${bytes}\r\n\r\n`);
      await turn();
      socket.write('x'.repeat(bytes));
      for (let turns = 0; turns < 20; turns += 1) await turn();
      socket.write('y');
      busy(3 * LIMITS.surplusMs);
    });
  });
  return `http://127.0.0.1:${await portOf(server)}/file`;
}

test('finds a surplus byte after a whole file even if the process was busy when it arrived', async () => {
  const looked = sampleFile(await originOf(100 * KIB), options());

  await expect(looked).rejects.toMatchObject({ reason: 'incomplete' });
});
