import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { checkSignature, contentOf, routed } from './incoming.ts';
import { base64Crc32, carryOut, document, md5Etag, refusalAnswer, xmlAnswer } from './operations.ts';
import {
  type Answer,
  BUCKET,
  type Call,
  type Contents,
  CREDENTIALS,
  type Fault,
  REGION,
  Refusal,
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
  completeAgain: 'NoSuchUpload',
  faults: () => undefined,
};

/**
 * S3 on loopback, in memory, with one bucket in path style, as strict as recordings of AWS show. It serves until
 * `stop`. The options can be changed while it runs; `reset` empties it and restores the options.
 */
export async function startStrictStore(options: StoreOptions = {}) {
  const settings = { ...DEFAULTS, ...options };
  const contents: Contents = { objects: new Map(), uploads: new Map(), completed: new Map() };
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
  return { body, etag: md5Etag(body), crc32: base64Crc32(crc32(body)), headers: {}, at: new Date() };
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
  const told = { status: 0, code: undefined };
  const call: Call = { operation, key, partNumber, attempt, number: calls.length + 1, headers, ...told, connection };
  calls.push(call);
  return call;
}

/** Serves one call from its first byte to its answer or its fault. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  call: Call,
  contents: Contents,
  settings: Settings,
): Promise<void> {
  const fault = settings.faults(call);
  if (fault === 'reset') request.socket.resetAndDestroy();
  if (fault === 'reset' || fault === 'stall') return;
  const raw = await rawBody(request, fault);
  if (raw === undefined) return;
  if (hasKey(fault, 'waitFor')) await fault.waitFor;
  const answer = await answerTo(request, raw, fault, call, contents, settings);
  if (fault === 'lostAnswer') request.socket.resetAndDestroy();
  if (fault === 'lostAnswer' || fault === 'stallAnswer') return;
  const { status, headers = {}, body = '' } = answer;
  call.status = status;
  call.code = /<Code>(.*?)<\/Code>/.exec(String(body))?.[1];
  const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { 'x-amz-request-id': 'TESTREQUEST', ...headers, ...length });
  if (hasKey(fault, 'breakAfter'))
    response.write(Buffer.from(body).subarray(0, fault.breakAfter), () => response.destroy());
  else response.end(request.method === 'HEAD' || status === 204 ? undefined : body);
}

function hasKey<Name extends string>(
  fault: Fault | undefined,
  name: Name,
): fault is Extract<Fault, Record<Name, unknown>> {
  return typeof fault === 'object' && name in fault;
}

/** The raw body, including its framing. Undefined if a fault or the client ends the connection before. */
async function rawBody(request: IncomingMessage, fault: Fault | undefined): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let [read, sincePause] = [0, 0];
  try {
    for await (const chunk of request) {
      chunks.push(chunk);
      read += chunk.length;
      sincePause += chunk.length;
      if (hasKey(fault, 'resetAfter') && read >= fault.resetAfter) request.socket.resetAndDestroy();
      if (!hasKey(fault, 'pausesEvery') || sincePause < fault.pausesEvery) continue;
      sincePause = 0;
      await delay(fault.pauseMs);
    }
  } catch {
    return undefined;
  }
  if (!hasKey(fault, 'resetAfter')) return Buffer.concat(chunks);
  request.socket.resetAndDestroy();
  return undefined;
}

async function answerTo(
  request: IncomingMessage,
  raw: Buffer,
  fault: Fault | undefined,
  call: Call,
  contents: Contents,
  settings: Settings,
): Promise<Answer> {
  const { bucket, query } = routed(request);
  try {
    await checkSignature(request);
    if (bucket !== BUCKET) throw new Refusal(404, 'NoSuchBucket');
    if (hasKey(fault, 'status')) {
      const refused = refusalAnswer(new Refusal(fault.status, fault.code));
      return { ...refused, headers: { ...refused.headers, ...fault.headers } };
    }
    if (hasKey(fault, 'page')) return { status: 200, headers: { 'content-type': 'text/html' }, body: fault.page };
    // S3 sends white space while it assembles a large object, and reports an error only after that.
    if (hasKey(fault, 'errorIn200'))
      return xmlAnswer(document('Error', { Code: fault.errorIn200 }).replace('\n', '\n\n  \n'));
    const { body, sentCrc32 } = contentOf(request, raw);
    const work = { request: call, query, body: fault === 'corrupt' ? flipped(body) : body, sentCrc32 };
    const upload = contents.uploads.get(query.get('uploadId') ?? '');
    if (fault === 'conflict409' && upload) upload.dead = true;
    if (fault === 'conflict409' && !upload) throw new Refusal(409, 'ConditionalRequestConflict');
    const answer = carryOut(work, contents, settings);
    if (fault === 'noSuchUploadAfterSuccess') throw new Refusal(404, 'NoSuchUpload');
    return answer;
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error);
    throw error;
  }
}

function flipped(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] ?? 0) ^ 1;
  return copy;
}
