import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamingLimits } from '../../../core/aws/reading-agent.ts';
import { createBucket } from '../../../core/storage/bucket.ts';
import { trustedCertificate } from '../../support/certificate.ts';
import { wholeContent } from '../../support/origin/content.ts';

const certificate = trustedCertificate();
const OBJECT = wholeContent(1, 9_000_001);
const connections = new Set<Socket>();
let server: Server;
let client: S3Client;

beforeAll(async () => {
  // A store with one object, over TLS, in place of S3.
  server = createServer(certificate, (request, response) => {
    connections.add(request.socket);
    response.writeHead(200, { 'content-length': OBJECT.length, etag: '"one"' });
    response.end(OBJECT);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  client = new S3Client({
    ...streamingLimits(),
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
});
afterAll(() => {
  client.destroy();
  server.closeAllConnections();
  server.close();
});

async function read(afterChunk?: () => Promise<unknown>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await createBucket(client, 'exports').stream('a.csv'))?.chunks ?? []) {
    chunks.push(chunk);
    await afterChunk?.();
  }
  return Buffer.concat(chunks);
}

test('reads the stored bytes at any pace and reuses the connection', async () => {
  const bodies = [await read(), await read(turn), await read()];

  expect(bodies.map((body) => body.equals(OBJECT))).toEqual([true, true, true]);
  expect(connections.size).toBe(1);
});

test('buffers less than 1 MB of an object whose body is not read', async () => {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'exports', Key: 'a.csv' }));
  // The SDK's type also covers browsers; in Node.js the body is the response itself.
  if (!(Body instanceof Readable)) throw new Error('The body is not a stream of Node.js.');
  for (let turns = 0; turns < 200; turns += 1) await turn();

  expect(Body.readableLength).toBeLessThan(1_000_000);
  Body.destroy();
});
