import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sampleFile } from '../../transfer/source/sample-file.ts';
import { portOf } from '../support/loopback.ts';
import { KIB } from '../support/transfers.ts';

const SURPLUS_MS = 100;

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
      busy(3 * SURPLUS_MS);
    });
  });
  return `http://127.0.0.1:${await portOf(server)}/file`;
}

test('finds a surplus byte after a whole file even if the process was busy when it arrived', async () => {
  const looked = sampleFile(await originOf(100 * KIB), {
    policy: { hosts: [], local: true },
    mostBytes: 1000 * KIB,
    signal: new AbortController().signal,
    limits: { surplusMs: SURPLUS_MS },
  });
  const outcome = await looked.then(
    () => 'whole',
    ({ reason }) => reason,
  );
  expect(outcome).toBe('incomplete');
});
