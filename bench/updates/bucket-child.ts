import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A bucket in memory that answers as S3 does to what a step requests, as fast as Node can. Says its address. */

const objects = new Map<string, Buffer>();

const server = createServer(async (request, response) => {
  const body = await buffer(request);
  const key = new URL(request.url ?? '', 'http://bucket').pathname;
  if (request.method === 'PUT') return put(key, body, request, response);
  return get(key, request, response);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('disconnect', () => process.exit());

function put(key: string, body: Buffer, { headers }: IncomingMessage, response: ServerResponse) {
  if (objects.has(key) && headers['if-none-match'] === '*') return fail(response, 412, 'PreconditionFailed');
  objects.set(key, body);
  return response.writeHead(200, { etag: etagOf(body) }).end();
}

function get(key: string, { headers }: IncomingMessage, response: ServerResponse) {
  const object = objects.get(key);
  if (!object) return fail(response, 404, 'NoSuchKey');
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const part = object.subarray(Number(first ?? 0), last ? Number(last) + 1 : undefined);
  response.writeHead(first === undefined ? 200 : 206, { etag: etagOf(object), 'content-length': part.length });
  return response.end(part);
}

function fail(response: ServerResponse, status: number, code: string) {
  response.writeHead(status, { 'content-type': 'application/xml' });
  return response.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}
