import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { crc32, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { RunErrorName } from '../../../../lambdas/shared/errors.ts';
import { type Measure, measured } from '../../../../lambdas/shared/files/measured.ts';
import { openFile } from '../../../../lambdas/shared/files/open-file.ts';
import { CANARY } from '../../../support/builders.ts';
import { failureOf } from '../../../support/failures.ts';
import { cutOff, deadAddress, type Exchange, hangUp, type Reply, serverFor } from '../../../support/http-server.ts';

const PATH = `/file?signature=${CANARY}`;
const CSV = { 'content-type': 'text/csv', 'content-disposition': 'attachment; filename="leads.csv"' };

const open = (url: string, signal = new AbortController().signal) => openFile(url, { local: true, signal });

/** Opens the file of a server with these answers and reads it to its end. */
async function fetched(...exchanges: Exchange[]) {
  const { url, seen } = await serverFor(...exchanges);
  return { ...(await receive(`${url}${PATH}`)), seen, url };
}

async function receive(address: string, signal?: AbortSignal) {
  const file = await open(address, signal);
  const measure: Measure = { bytes: 0, crc32: 0 };
  return { file, measure, bytes: await buffer(measured(file, measure)) };
}

async function failing(reply: Reply, name: RunErrorName) {
  const { url } = await serverFor([`GET ${PATH}`, reply]);
  return failureOf(receive(`${url}${PATH}`), name);
}

/** A server that says these very bytes, whatever was asked, and closes. */
async function rawServer(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('bytes come as they are, and are measured', async () => {
  const content = Buffer.from('id,name\r\n1,"שלום"\r\n');

  const { file, bytes, measure } = await fetched([`GET ${PATH}`, { headers: CSV, text: content }]);

  expect(bytes.equals(content)).toBe(true);
  expect(measure).toEqual({ bytes: content.length, crc32: crc32(content) });
  expect(file).toMatchObject({
    length: content.length,
    contentType: 'text/csv',
    disposition: 'attachment; filename="leads.csv"',
    contentEncoding: '',
  });
});

test('no credential is sent, and no compressed answer is asked for', async () => {
  const { seen } = await fetched([`GET ${PATH}`, { headers: CSV, text: 'x' }]);

  expect(Object.keys(seen[0]?.headers ?? {}).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
  expect(seen[0]?.headers['accept-encoding']).toBe('identity');
});

test('a file that comes compressed unasked stays as it came', async () => {
  const packed = gzipSync('id\n1\n');

  const { file, bytes } = await fetched([
    `GET ${PATH}`,
    { headers: { ...CSV, 'content-encoding': 'gzip' }, text: packed },
  ]);

  expect(bytes.equals(packed)).toBe(true);
  expect(file.contentEncoding).toBe('gzip');
});

test('a chunked file has no length, and its end is known all the same', async () => {
  const { file, bytes } = await fetched([
    `GET ${PATH}`,
    (response) => {
      response.writeHead(200, CSV);
      response.write('id\n');
      response.end('1\n');
    },
  ]);

  expect(file.length).toBe(null);
  expect(bytes.toString()).toBe('id\n1\n');
});

test('an empty file is a file', async () => {
  const { measure } = await fetched([`GET ${PATH}`, { headers: CSV }]);

  expect(measure).toEqual({ bytes: 0, crc32: 0 });
});

test.each<[number, RunErrorName]>([
  [400, 'DownloadLinkExpired'],
  [401, 'DownloadLinkExpired'],
  [403, 'DownloadLinkExpired'],
  [404, 'DownloadLinkExpired'],
  [410, 'DownloadLinkExpired'],
  [429, 'RateLimited'],
  [408, 'CrmUnavailable'],
  [500, 'CrmUnavailable'],
  [503, 'CrmUnavailable'],
  [204, 'FileRejected'],
  [206, 'FileRejected'],
])('%i is %s', async (status, name) => {
  const error = await failing({ status, text: status === 204 ? '' : CANARY, headers: { 'retry-after': '12' } }, name);

  expect(error.message).toContain(`was answered ${status}`);
  expect(error.retryAfterSeconds).toBe(['RateLimited', 'CrmUnavailable'].includes(name) ? 12 : undefined);
});

test.each([301, 302, 303, 307, 308])('a redirect (%i) is followed, still without any credential', async (status) => {
  const { bytes, seen } = await fetched(
    [`GET ${PATH}`, { status, headers: { location: '/next?x' } }],
    ['GET /next?x', { headers: CSV, text: 'id\n' }],
  );

  expect(bytes.toString()).toBe('id\n');
  expect(seen[1]?.headers).not.toHaveProperty('authorization');
});

test('the third redirect is followed, the fourth is not', async () => {
  const hop = (from: string, to: string): Exchange => [`GET ${from}`, { status: 302, headers: { location: to } }];
  const { url } = await serverFor(hop(PATH, '/2'), hop('/2', '/3'), hop('/3', '/4'), hop('/4', '/5'));

  await failureOf(open(`${url}${PATH}`), 'DownloadUrlRejected');
});

test.each([
  ['has a user name in it', `http://${CANARY}:x@127.0.0.1/`],
  ['begins with ftp: instead of https:', `ftp://127.0.0.1/${CANARY}`],
  ['cannot be read', `http://[${CANARY}`],
])('a redirect to an address that %s is refused', async (why, location) => {
  const error = await failing({ status: 302, headers: { location } }, 'DownloadUrlRejected');

  expect(error.message).toContain(why);
});

test('http is refused where the deployment is not local, before anything is sent', async () => {
  const { url } = await serverFor();

  await failureOf(
    openFile(`${url}${PATH}`, { local: false, signal: new AbortController().signal }),
    'DownloadUrlRejected',
  );
});

test('a redirect without an address is no file', async () => {
  await failing({ status: 302 }, 'FileRejected');
});

test('a file without length or chunks is refused: its end looks like a cut', async () => {
  const address = await rawServer('HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\nconnection: close\r\n\r\nid\n1\n');

  expect((await failureOf(receive(address), 'FileRejected')).message).toContain('without a length');
});

test('the word chunked is read in any letter case', async () => {
  const address = await rawServer('HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nid\n\r\n0\r\n\r\n');

  expect((await receive(address)).bytes.toString()).toBe('id\n');
});

test('more bytes than declared are no part of the file', async () => {
  const address = await rawServer(`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nid\n${CANARY}`);

  const outcome = await receive(address).then(
    ({ bytes }) => bytes.toString(),
    (error: Error) => error.name,
  );

  expect(['id\n', 'DownloadIncomplete']).toContain(outcome);
});

test('a file that breaks off says after how many bytes', async () => {
  const error = await failing(cutOff(200, CSV, 'id\n1\n'), 'DownloadIncomplete');

  expect(error.message).toMatch(/^The file broke off after 5 of 1005 bytes \(ECONNRESET\)\.$/);
});

test('a chunked file that breaks off is incomplete', async () => {
  const address = await rawServer('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nid\n\r\n');

  expect((await failureOf(receive(address), 'DownloadIncomplete')).message).toContain('3 of unknown bytes');
});

test('a file that stalls ends with the time of the invocation', async () => {
  const time = new AbortController();
  const { url } = await serverFor([
    `GET ${PATH}`,
    (response) => {
      response.writeHead(200, { ...CSV, 'content-length': '100' });
      response.write('id\n');
    },
  ]);
  const file = await open(`${url}${PATH}`, time.signal);

  const reading = (async () => {
    for await (const _ of measured(file, { bytes: 0, crc32: 0 })) time.abort();
  })();

  expect((await failureOf(reading, 'DownloadIncomplete')).message).toContain('broke off after 3 of 100 bytes');
});

test('a connection on which nothing comes any more is given up', async () => {
  const { url } = await serverFor([
    `GET ${PATH}`,
    (response) => {
      response.writeHead(200, { ...CSV, 'content-length': '100' });
      response.write('id\n');
    },
  ]);
  const file = await openFile(`${url}${PATH}`, { local: true, signal: new AbortController().signal, idleMs: 50 });

  const reading = (async () => {
    for await (const _ of measured(file, { bytes: 0, crc32: 0 }));
  })();

  await failureOf(reading, 'DownloadIncomplete');
});

test('time that is up before the answer comes is the trouble of the file server', async () => {
  const time = new AbortController();
  const { url } = await serverFor([`GET ${PATH}`, () => time.abort()]);

  await failureOf(open(`${url}${PATH}`, time.signal), 'CrmUnavailable');
});

test('a connection closed without an answer, and none at all, are the trouble of the file server', async () => {
  await failing(hangUp, 'CrmUnavailable');
  await failureOf(open(await deadAddress()), 'CrmUnavailable');
});

test.each<[string, Reply]>([
  ['by its type', { headers: { 'content-type': 'text/html; charset=utf-8' }, text: CANARY }],
  ['by its type, with nothing in it', { headers: { 'content-type': 'text/html' } }],
  ['by its first words', { headers: CSV, text: `\n <!DOCTYPE html><html>${CANARY}` }],
  ['by its first tag, without any type', { text: `<HTML lang="he">${CANARY}` }],
  [
    'of XML, as stores write their errors',
    { headers: { 'content-type': 'application/xml' }, text: `<Error>${CANARY}` },
  ],
])('a web page with status 200 is refused: known %s', async (_, reply) => {
  await failing(reply, 'FileRejected');
});

test('a data file may hold tags further on', async () => {
  const { bytes } = await fetched([`GET ${PATH}`, { headers: CSV, text: 'note\n<html>\n' }]);

  expect(bytes.toString()).toBe('note\n<html>\n');
});
