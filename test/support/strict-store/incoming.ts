import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from './answers.ts';
import type { Operation, Pauses, Settings } from './types.ts';

const STREAMING = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';
const CRC32 = 'x-amz-checksum-crc32';

/** The call of a request, by its method and query. */
export function routed({ method = '', url = '' }: IncomingMessage) {
  const { pathname, searchParams: query } = new URL(url, 'http://store');
  const [, bucket = '', path = ''] = /^\/([^/]*)\/?(.*)$/.exec(pathname) ?? [];
  return { bucket, key: decodeURIComponent(path), query, operation: operationOf(method, path, query) };
}

function operationOf(method: string, path: string, query: URLSearchParams): Operation | undefined {
  const multipart = query.has('uploadId');
  if (method === 'POST') return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
  if (method === 'PUT') return multipart ? 'UploadPart' : putOf(query);
  // Every GET of the bucket lists objects, also a request for versions: that client then finds none.
  if (method === 'GET' && path === '') return 'ListObjectsV2';
  if (method === 'GET') return multipart ? 'ListParts' : 'GetObject';
  if (method === 'DELETE') return multipart ? 'AbortMultipartUpload' : 'DeleteObject';
  return method === 'HEAD' ? 'HeadObject' : undefined;
}

const putOf = (query: URLSearchParams) => (query.has('tagging') ? 'PutObjectTagging' : 'PutObject');

/** The raw body, including its framing. Undefined if the client closed the connection early. */
export async function rawBody(request: AsyncIterable<Buffer>): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

export async function* withPauses(
  request: AsyncIterable<Buffer>,
  { pausesEvery, pauseMs }: Pauses,
): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of request) {
    yield chunk;
    read += chunk.length;
    if (read < pausesEvery) continue;
    read = 0;
    await delay(pauseMs);
  }
}

/**
 * The content of a body and the CRC32 that was sent with it, in a header or in a trailer.
 *
 * @throws Refusal when length, framing or hash do not meet S3's rules
 */
export function contentOf(
  { headers, method }: Pick<IncomingMessage, 'headers' | 'method'>,
  raw: Buffer,
  { checksums }: Settings,
) {
  const payload = headers['x-amz-content-sha256'];
  const length = headers['x-amz-decoded-content-length'];
  const streamed = payload === STREAMING;
  if (method === 'PUT' && headers['content-length'] === undefined && !(streamed && length !== undefined)) {
    throw new Refusal(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  if (!streamed) {
    checkHash(String(payload), raw);
    return { body: raw, sentCrc32: valid(headers[CRC32], 'header') };
  }
  if (checksums === 'none') {
    throw new Refusal(501, 'NotImplemented', 'A header you provided implies functionality that is not implemented');
  }
  if (headers[CRC32] !== undefined)
    throw new Refusal(400, 'InvalidRequest', 'Expecting a single x-amz-checksum- header');
  return unframed(raw, length, headers['x-amz-trailer']);
}

function unframed(raw: Buffer, length: string | string[] | undefined, announced: string | string[] | undefined) {
  if (!/^\d+$/.test(String(length))) {
    throw new Refusal(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  const { body, trailers } = decodeChunked(raw, Number(length));
  const names = [...trailers.keys()].join();
  if (names !== (announced ?? '')) throw malformed();
  return { body, sentCrc32: valid(trailers.get(CRC32), 'trailing header') };
}

function checkHash(payload: string, raw: Buffer): void {
  if (payload === 'UNSIGNED-PAYLOAD') return;
  if (payload !== createHash('sha256').update(raw).digest('hex')) {
    const message = "The provided 'x-amz-content-sha256' header does not match what was computed.";
    throw new Refusal(400, 'XAmzContentSHA256Mismatch', message);
  }
}

function valid(value: string | string[] | undefined, where: string): string | undefined {
  if (value === undefined) return undefined;
  if (!/^[A-Za-z0-9+/]{6}==$/.test(String(value))) {
    throw new Refusal(400, 'InvalidRequest', `Value for ${CRC32} ${where} is invalid.`);
  }
  return String(value);
}

/** The minimum size of all chunks but the last on AWS (documentation; versitygw enforces it, too). */
const MIN_CHUNK_BYTES = 8192;

/**
 * Takes the framing of `STREAMING-UNSIGNED-PAYLOAD-TRAILER` off a body.
 *
 * @throws Refusal as S3 answers: IncompleteBody, InvalidChunkSizeError, MalformedTrailerError
 */
function decodeChunked(body: Buffer, decodedLength: number): { body: Buffer; trailers: Map<string, string> } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const size = end < 0 ? '' : body.toString('latin1', at, end);
    if (!/^[0-9a-fA-F]{1,16}$/.test(size)) throw incomplete();
    const length = Number.parseInt(size, 16);
    at = end + 2;
    if (length === 0) break;
    if (body.toString('latin1', at + length, at + length + 2) !== '\r\n') throw incomplete();
    chunks.push(body.subarray(at, at + length));
    at += length + 2;
  }
  checkSizes(chunks);
  const decoded = Buffer.concat(chunks);
  if (decoded.length !== decodedLength) throw incomplete();
  return { body: decoded, trailers: trailersOf(body.toString('latin1', at)) };
}

function checkSizes(chunks: Buffer[]): void {
  if (chunks.slice(0, -1).some((chunk) => chunk.length < MIN_CHUNK_BYTES)) {
    const message = `Only the last chunk is allowed to have a size less than ${MIN_CHUNK_BYTES} bytes`;
    throw new Refusal(400, 'InvalidChunkSizeError', message);
  }
}

function trailersOf(text: string): Map<string, string> {
  const trailers = new Map<string, string>();
  if (!text.endsWith('\r\n')) throw malformed();
  for (const line of text.split('\r\n').filter((line) => line !== '')) {
    const [, name, value] = /^([a-z0-9-]+):\s*(\S+)$/i.exec(line) ?? [];
    if (name === undefined || value === undefined) throw malformed();
    trailers.set(name.toLowerCase(), value);
  }
  return trailers;
}

function incomplete(): Refusal {
  return new Refusal(
    400,
    'IncompleteBody',
    'You did not provide the number of bytes specified by the Content-Length HTTP header',
  );
}

/** The refusal of a missing or malformed trailer. */
function malformed(): Refusal {
  const message =
    'The request contained trailing data that was not well-formed or did not conform to our published schema.';
  return new Refusal(400, 'MalformedTrailerError', message);
}
