import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { base64Crc32, md5Etag } from './checksums.ts';
import { routed } from './incoming.ts';
import { serve } from './serve.ts';
import {
  type Call,
  type Contents,
  CREDENTIALS,
  REGION,
  type Settings,
  type StoredObject,
  type StoreOptions,
} from './types.ts';

export { TROUBLE } from './types.ts';
export type { StoreOptions };

/** The settings of AWS. */
export const DEFAULTS: Settings = {
  minPartBytes: 5 * 1024 * 1024,
  pageSize: 1000,
  checksums: 'full-object',
  completeAgain: 'NoSuchUpload',
  faults: () => undefined,
};

/**
 * S3 on loopback, in memory, with one bucket in path style, as strict as recordings of AWS show. It serves until
 * `stop`. The options can be changed while it runs; `reset` empties it and restores the options.
 */
export async function startStrictStore(options: StoreOptions = {}) {
  const settings = { ...DEFAULTS, ...options };
  const contents: Contents = { objects: new Map(), uploads: new Map(), deleted: new Map(), completed: new Map() };
  const calls: Call[] = [];
  const attempts = new Map<string, number>();
  const failures: unknown[] = [];
  const connections = new WeakMap<Socket, number>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const call = noted(request, calls, attempts, connections.get(request.socket) ?? 0);
    if (call === undefined) return response.writeHead(501).end();
    return serve(request, response, call, contents, settings).catch((error: unknown) => {
      failures.push(error);
      request.socket.destroy();
    });
  });
  let opened = 0;
  server.on('connection', (socket: Socket) => connections.set(socket, ++opened));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    settings,
    /** Every call, in the order of arrival. */
    calls,
    /** The uploads that were neither completed nor aborted. */
    uploads: () => [...contents.uploads.values()].map(({ id, key, parts }) => ({ id, key, parts: parts.size })),
    object: (key: string) => contents.objects.get(key),
    /** Stores an object, as another process would. */
    place: (key: string, object: StoredObject) => contents.objects.set(key, object),
    /** Removes an object, as a person or a lifecycle rule would. */
    remove: (key: string) => contents.objects.delete(key),
    upload: (key: string, text: string) => contents.objects.set(key, objectOf(Buffer.from(text))),
    keys: () => [...contents.objects.keys()],
    connections: () => opened,
    /** Closes every connection that has been idle since its last answer. */
    closeSilent: () => server.closeIdleConnections(),
    reset: () => {
      Object.assign(settings, DEFAULTS, options);
      for (const map of [...Object.values(contents), attempts]) map.clear();
      calls.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      // An error in a fault script would otherwise look like a broken connection.
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** A strict store until the end of the test, and a client of the SDK for it that repeats nothing. */
export async function storeForTest(options: StoreOptions = {}) {
  const store = await startStrictStore(options);
  onTestFinished(store.stop);
  const client = clientOf(store.endpoint);
  onTestFinished(() => client.destroy());
  return { ...store, client };
}

/** A client of the SDK for a store, which repeats nothing. */
export function clientOf(endpoint: string, credentials = CREDENTIALS): S3Client {
  return new S3Client({ endpoint, region: REGION, credentials, forcePathStyle: true, maxAttempts: 1 });
}

function objectOf(body: Buffer): StoredObject {
  const checksum = { crc32: base64Crc32(crc32(body)), checksumType: 'FULL_OBJECT' as const };
  return { body, etag: md5Etag(body), ...checksum, headers: {}, at: new Date() };
}

/** Records a call in the ledger. Returns undefined for an unsupported call. */
function noted(request: IncomingMessage, calls: Call[], attempts: Map<string, number>, connection: number) {
  const { operation, key, query } = routed(request);
  if (operation === undefined) return undefined;
  const partNumber = query.has('partNumber') ? Number(query.get('partNumber')) : undefined;
  const same = `${operation} ${partNumber} ${key}`;
  const attempt = (attempts.get(same) ?? 0) + 1;
  attempts.set(same, attempt);
  const { headers } = request;
  const told = { bytes: 0, status: 0, code: undefined };
  const call: Call = { operation, key, partNumber, attempt, number: calls.length + 1, headers, ...told, connection };
  calls.push(call);
  return call;
}
