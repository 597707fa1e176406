import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { Refusal } from './answers.ts';
import { base64Crc32, checkDigest, md5Etag } from './checksums.ts';
import type { Answer, Contents, Settings, StoredObject, Work } from './types.ts';

/** PutObject; answers and refusals as recorded on AWS by LocalStack's tests. */
export function put(work: Work, { objects }: Contents, { checksums }: Settings): Answer {
  const { key, headers } = work.request;
  checkIfNoneMatch(headers, objects.get(key));
  if (checksums !== 'none') checkDigest(work);
  const value = checksums === 'none' ? undefined : base64Crc32(crc32(work.body));
  const etag = md5Etag(work.body);
  const object = { body: work.body, etag, crc32: value, headers: keptHeaders(headers) };
  objects.set(key, { ...object, checksumType: 'FULL_OBJECT' });
  const known = { 'x-amz-checksum-crc32': String(value), 'x-amz-checksum-type': 'FULL_OBJECT' };
  return { status: 200, headers: { etag, ...(value === undefined ? {} : known) } };
}

/** @throws Refusal 412 when the key exists, 501 for any value but `*` */
export function checkIfNoneMatch(headers: IncomingHttpHeaders, standing: StoredObject | undefined): void {
  const condition = headers['if-none-match'];
  if (condition === undefined) return;
  if (condition !== '*') {
    const message = 'A header you provided implies functionality that is not implemented';
    throw new Refusal(501, 'NotImplemented', message, { Header: 'If-None-Match' });
  }
  if (standing === undefined) return;
  const message = 'At least one of the pre-conditions you specified did not hold';
  throw new Refusal(412, 'PreconditionFailed', message, { Condition: 'If-None-Match' });
}

/** HeadObject and GetObject; the checksum comes only where it is requested, and never with a part of the object. */
export function get({ request: { key, headers } }: Work, { objects }: Contents): Answer {
  const object = objects.get(key);
  if (object === undefined) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
  const range = rangeOf(headers.range, object.body.length);
  const body = range ? object.body.subarray(range.first, range.last + 1) : object.body;
  const asked = headers['x-amz-checksum-mode'] === 'ENABLED' && body.length === object.body.length;
  const known = { 'x-amz-checksum-crc32': String(object.crc32), 'x-amz-checksum-type': object.checksumType };
  return {
    status: range ? 206 : 200,
    headers: {
      ...object.headers,
      etag: object.etag,
      'accept-ranges': 'bytes',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
      ...(asked && object.crc32 !== undefined ? known : {}),
      ...(range ? { 'content-range': `bytes ${range.first}-${range.last}/${object.body.length}` } : {}),
    },
    body,
  };
}

/** Undefined = the whole: no range, or one that S3 does not understand. */
function rangeOf(header: string | undefined, size: number): { first: number; last: number } | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (first >= size) {
    throw new Refusal(416, 'InvalidRange', 'The requested range is not satisfiable', {
      RangeRequested: String(header),
      ActualObjectSize: String(size),
    });
  }
  return first > last ? undefined : { first, last };
}

export function remove({ request: { key, number } }: Work, { objects, deleted }: Contents): Answer {
  if (objects.delete(key)) deleted.set(key, number);
  return { status: 204 };
}

/** The headers that stay with an object. `aws-chunked` was about the transport: S3 takes it off. */
export function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': headers['content-type'] ?? 'binary/octet-stream' };
  const encoding = String(headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'aws-chunked');
  if (encoding.length > 0) kept['content-encoding'] = encoding.join(',');
  for (const [name, value] of Object.entries(headers)) {
    if (/^(content-disposition|cache-control|x-amz-meta-.*)$/.test(name)) kept[name] = String(value);
  }
  return kept;
}
