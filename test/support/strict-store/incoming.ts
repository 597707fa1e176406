import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Hash } from '@smithy/core/serde';
import { SignatureV4 } from '@smithy/signature-v4';
import { CREDENTIALS, type Operation, REGION, Refusal } from './types.ts';

/** Which call a request is, whether its signature is right, and its content. */

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

/**
 * The content of a body and the CRC32 that was sent with it, in a header or in a trailer.
 * @throws Refusal when length, framing or hash do not meet S3's rules
 */
export function contentOf({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>, raw: Buffer) {
  const { 'x-amz-content-sha256': payload, 'x-amz-decoded-content-length': length, 'x-amz-trailer': trailer } = headers;
  const streamed = payload === STREAMING;
  const isMeasured = streamed ? /^\d+$/.test(String(length)) : headers['content-length'] !== undefined;
  if (!isMeasured && (streamed || method === 'PUT')) throw new Refusal(411, 'MissingContentLength');
  if (!streamed) {
    const isRight = payload === 'UNSIGNED-PAYLOAD' || payload === createHash('sha256').update(raw).digest('hex');
    if (!isRight) throw new Refusal(400, 'XAmzContentSHA256Mismatch');
    return { body: raw, sentCrc32: valid(headers[CRC32]) };
  }
  if (headers[CRC32] !== undefined) throw new Refusal(400, 'InvalidRequest');
  const { body, trailers } = decodeChunked(raw, Number(length));
  if ([...trailers.keys()].join() !== (trailer ?? '')) throw new Refusal(400, 'MalformedTrailerError');
  return { body, sentCrc32: valid(trailers.get(CRC32)) };
}

function valid(value: string | string[] | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (!/^[A-Za-z0-9+/]{6}==$/.test(String(value))) throw new Refusal(400, 'InvalidRequest');
  return String(value);
}

/** The minimum size of all chunks but the last on AWS (documentation; versitygw enforces it, too). */
const MIN_CHUNK_BYTES = 8192;

/** Takes the framing of `STREAMING-UNSIGNED-PAYLOAD-TRAILER` off a body. */
function decodeChunked(body: Buffer, decodedLength: number): { body: Buffer; trailers: Map<string, string> } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const size = end < 0 ? '' : body.toString('latin1', at, end);
    if (!/^[0-9a-fA-F]{1,16}$/.test(size)) throw new Refusal(400, 'IncompleteBody');
    const length = Number.parseInt(size, 16);
    at = end + 2;
    if (length === 0) break;
    if (body.toString('latin1', at + length, at + length + 2) !== '\r\n') throw new Refusal(400, 'IncompleteBody');
    chunks.push(body.subarray(at, at + length));
    at += length + 2;
  }
  if (chunks.slice(0, -1).some((chunk) => chunk.length < MIN_CHUNK_BYTES))
    throw new Refusal(400, 'InvalidChunkSizeError');
  const decoded = Buffer.concat(chunks);
  if (decoded.length !== decodedLength) throw new Refusal(400, 'IncompleteBody');
  return { body: decoded, trailers: trailersOf(body.toString('latin1', at)) };
}

function trailersOf(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter((line) => line !== '');
  const trailers = lines.map((line) => /^([a-z0-9-]+):\s*(\S+)$/i.exec(line));
  if (!text.endsWith('\r\n') || trailers.includes(null)) throw new Refusal(400, 'MalformedTrailerError');
  return new Map(trailers.map((found) => [String(found?.[1]).toLowerCase(), String(found?.[2])]));
}

const signer = new SignatureV4({
  service: 's3',
  region: REGION,
  credentials: CREDENTIALS,
  sha256: Hash.bind(null, 'sha256'),
  uriEscapePath: false,
  applyChecksum: false,
});

/** Signs a request again, with the headers that its sender signed. @throws Refusal AccessDenied or SignatureDoesNotMatch */
export async function checkSignature({ method = '', url = '', headers }: IncomingMessage): Promise<void> {
  const names = /SignedHeaders=([a-z0-9;-]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const due = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  if (due.some((name) => !names.includes(name))) throw new Refusal(403, 'AccessDenied');
  const { protocol, hostname, pathname: path, searchParams } = new URL(url, 'http://store');
  const [, date = '', time = ''] = /^(\d{8})T(\d{6})Z$/.exec(String(headers['x-amz-date'])) ?? [];
  const signingDate = new Date(date.replace(/(..)(..)$/, '-$1-$2T') + time.replace(/(..)(..)(..)/, '$1:$2:$3Z'));
  const request = {
    ...{ method, protocol, hostname, path, query: Object.fromEntries(searchParams) },
    headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
  };
  const signed = await signer.sign(request, { signingDate });
  if (signed.headers.authorization !== headers.authorization) throw new Refusal(403, 'SignatureDoesNotMatch');
}
