import { createHash } from 'node:crypto';
import { Agent, get, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { type Behaviour, busy, HTML_PAGE, inOrder, type OriginFile, startOrigin } from '../support/origin/origin.ts';

/** The hostile origin does on the wire what its scripts say: Node's own client is the witness. */

const SIZE = 300_000;

async function fileOf(behaviour: Behaviour = {}, size = SIZE): Promise<OriginFile> {
  const origin = await startOrigin();
  onTestFinished(origin.stop);
  return origin.file({ size, seed: 7, script: () => behaviour });
}

interface Seen {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** How the answer ended: `whole`, or the code of the error. */
  end: string;
}

function fetched(url: string, headers: Record<string, string> = {}, agent?: Agent): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const seen: Seen = { status: undefined, headers: {}, body: Buffer.alloc(0), end: 'whole' };
    const ended = (error: NodeJS.ErrnoException) => {
      seen.end = String(error.code);
    };
    const request = get(url, { headers, ...(agent ? { agent } : {}) }, (response) => {
      const chunks: Buffer[] = [];
      Object.assign(seen, { status: response.statusCode, headers: response.headers });
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', ended);
      let open = 2;
      const closed = () => {
        open -= 1;
        if (open === 0) resolve({ ...seen, body: Buffer.concat(chunks) });
      };
      response.on('close', closed);
      request.on('close', closed);
    });
    // Node tells the request, too, of what happens after the head.
    request.on('error', (error) => (seen.status === undefined ? reject(error) : ended(error)));
  });
}

test('serves the same bytes whole and in ranges, over one connection, and says what it served', async () => {
  const file = await fileOf();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());

  const whole = await fetched(file.url, {}, agent);
  const middle = await fetched(file.url, { range: 'bytes=65530-131080', 'if-match': String(file.etag) }, agent);
  const rest = await fetched(file.url, { range: 'bytes=299990-' }, agent);

  expect(createHash('sha256').update(whole.body).digest('hex')).toBe(file.digests().sha256);
  expect(whole.body.equals(file.bytes())).toBe(true);
  expect([middle.status, middle.headers['content-range']]).toEqual([206, 'bytes 65530-131080/300000']);
  expect(middle.body.equals(whole.body.subarray(65_530, 131_081))).toBe(true);
  expect(rest.body.equals(whole.body.subarray(-10))).toBe(true);
  expect(
    file.requests.map(({ number, offset, bytesSent, connection }) => [number, offset, bytesSent, connection]),
  ).toEqual([
    [1, 0, SIZE, 1],
    [2, 65_530, 65_551, 1],
    [3, 299_990, 10, 1],
  ]);
});

test('answers conditions and impossible ranges', async () => {
  const file = await fileOf();
  const empty = await fileOf({}, 0);

  expect((await fetched(file.url, { range: 'bytes=0-9', 'if-match': '"other"' })).status).toBe(412);
  expect((await fetched(file.url, { range: 'bytes=0-9', 'if-range': '"other"' })).status).toBe(200);
  expect((await fetched(file.url, { range: 'bytes=300000-' })).headers['content-range']).toBe('bytes */300000');
  expect(await fetched(empty.url, { range: 'bytes=0-99' })).toMatchObject({
    status: 416,
    headers: { 'content-range': 'bytes */0' },
  });
});

test.for<[string, Behaviour, { end: string; bytes: number }]>([
  ['resets the connection', { cutAfter: 1000 }, { end: 'ECONNRESET', bytes: 1000 }],
  ['ends early', { endAfter: 1000 }, { end: 'ECONNRESET', bytes: 1000 }],
  ['declares too much', { addToLength: 5 }, { end: 'ECONNRESET', bytes: SIZE }],
  ['declares too little', { addToLength: -5 }, { end: 'HPE_INVALID_CONSTANT', bytes: SIZE - 5 }],
  ['cuts chunks', { framing: 'chunked', endAfter: 1000 }, { end: 'ECONNRESET', bytes: 1000 }],
  ['sends chunks', { framing: 'chunked' }, { end: 'whole', bytes: SIZE }],
  ['delimits by the close', { framing: 'close' }, { end: 'whole', bytes: SIZE }],
  ['delimits by the close, too early', { framing: 'close', endAfter: 1000 }, { end: 'whole', bytes: 1000 }],
  ['sends more than it declared', { extraBytes: 10 }, { end: 'HPE_INVALID_CONSTANT', bytes: SIZE }],
  ['sends slowly', { bytesPerSecond: 3_000_000 }, { end: 'whole', bytes: SIZE }],
])('%s', async ([, behaviour, { end, bytes }]) => {
  const file = await fileOf(behaviour);

  const seen = await fetched(file.url);

  expect([seen.status, seen.end, seen.body.length]).toEqual([200, end, bytes]);
  expect(seen.body.equals(file.bytes().subarray(0, bytes))).toBe(true);
  expect(file.requests[0]?.bytesSent).toBe(
    behaviour.extraBytes ? SIZE + 10 : (behaviour.endAfter ?? behaviour.cutAfter ?? SIZE),
  );
});

test('lies about the content in every way that it is told to', async () => {
  const file = await fileOf();
  const range = { range: 'bytes=10-19' };
  const played: Behaviour[] = [
    { seed: 8 },
    { etag: null },
    { etag: 'W/"1"' },
    { contentRange: 'bytes 0-9/300000' },
    { ignoreRange: true },
    { gzip: true },
    HTML_PAGE,
    busy(429, '7'),
    { redirect: 'http://127.0.0.2/' },
  ];
  file.setScript(inOrder(...played));

  const [other, none, weak, moved, ignored, packed, page, full, redirect] = await sequence(
    played.length,
    file.url,
    range,
  );

  expect([other?.headers.etag, other?.body.equals(file.bytes().subarray(10, 20))]).toEqual([file.etag, false]);
  expect([none?.headers.etag, weak?.headers.etag]).toEqual([undefined, 'W/"1"']);
  expect(moved?.headers['content-range']).toBe('bytes 0-9/300000');
  expect([ignored?.status, ignored?.body.length]).toEqual([200, SIZE]);
  expect(packed?.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(packed?.body ?? '').equals(file.bytes())).toBe(true);
  expect([page?.status, page?.headers['content-type'], page?.body.toString().slice(0, 9)]).toEqual([
    200,
    'text/html; charset=utf-8',
    '<!DOCTYPE',
  ]);
  expect([full?.status, full?.headers['retry-after']]).toEqual([429, '7']);
  expect([redirect?.status, redirect?.headers.location]).toEqual([302, 'http://127.0.0.2/']);
});

async function sequence(count: number, url: string, headers: Record<string, string>): Promise<Seen[]> {
  const seen: Seen[] = [];
  while (seen.length < count) seen.push(await fetched(url, headers));
  return seen;
}

test('stalls after the bytes that it was told, until the client gives up', async () => {
  const file = await fileOf({ stallAfter: 5000 });

  const received = await new Promise<number>((resolve, reject) => {
    const request = get(file.url, (response) => {
      let bytes = 0;
      response.on('error', () => resolve(bytes));
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes === 5000) request.destroy(new Error('given up'));
      });
      response.on('end', () => reject(new Error('it ended')));
    });
    request.on('error', () => undefined);
  });

  expect([received, file.requests[0]?.bytesSent]).toEqual([5000, 5000]);
});

test('waits, or hangs up without a word', async () => {
  let go: () => void = () => undefined;
  const waitFor = new Promise<void>((resolve) => {
    go = resolve;
  });
  const file = await fileOf();
  file.setScript(inOrder({ waitFor }, { reset: true }));

  const first = fetched(file.url);
  go();

  expect((await first).status).toBe(200);
  await expect(fetched(file.url)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(file.requests[1]).toMatchObject({ status: 0, bytesSent: 0 });
});
