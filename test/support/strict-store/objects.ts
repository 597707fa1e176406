import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { document, fields, Refusal, xmlAnswer } from './answers.ts';
import { base64Crc32, checkDigest, md5Etag } from './checksums.ts';
import { type Answer, BUCKET, type Contents, type Settings, type StoredObject, type Work } from './types.ts';

/** PutObject, with answers and refusals as LocalStack's tests recorded them on AWS. */
export function put(work: Work, { objects }: Contents, { checksums }: Settings): Answer {
  const { key, headers } = work.request;
  checkIfNoneMatch(headers, objects.get(key));
  checkIfMatch(headers, objects.get(key));
  if (checksums !== 'none') checkDigest(work);
  const value = checksums === 'none' ? undefined : base64Crc32(crc32(work.body));
  const etag = md5Etag(work.body);
  const object = { body: work.body, etag, crc32: value, headers: keptHeaders(headers), at: new Date() };
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

/** PutObjectTagging. No test reads the tags. */
export function tag({ request: { key } }: Work, { objects }: Contents): Answer {
  if (!objects.has(key)) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
  return { status: 200, headers: {} };
}

/** @throws Refusal 404 if the key does not exist, 412 if the object differs */
export function checkIfMatch(headers: IncomingHttpHeaders, standing: StoredObject | undefined): void {
  const condition = headers['if-match'];
  if (condition === undefined || condition === standing?.etag) return;
  if (standing === undefined) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
  const message = 'At least one of the pre-conditions you specified did not hold';
  throw new Refusal(412, 'PreconditionFailed', message, { Condition: 'If-Match' });
}

/** HeadObject and GetObject. The checksum is returned only on request, and never with a part of the object. */
export function get({ request: { key, headers } }: Work, { objects }: Contents): Answer {
  const object = objects.get(key);
  if (object === undefined) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
  checkIfMatch(headers, object);
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
      'last-modified': object.at.toUTCString(),
      ...(asked && object.crc32 !== undefined ? known : {}),
      ...(range ? { 'content-range': `bytes ${range.first}-${range.last}/${object.body.length}` } : {}),
    },
    body,
  };
}

/** Undefined = the whole object: no range, or a range that S3 does not understand. */
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

/** ListObjectsV2. A page starts after the last key of the previous one. */
export function list({ query }: Work, { objects }: Contents, { pageSize }: Settings): Answer {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const most = Math.min(Number(query.get('max-keys') ?? pageSize), pageSize);
  const found = [...objects]
    .filter(([key]) => key.startsWith(prefix) && key > after)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const page = found.slice(0, most);
  const more = found.length > most;
  const head = { Name: BUCKET, Prefix: prefix, KeyCount: String(page.length), IsTruncated: String(more) };
  const next = more ? { NextContinuationToken: page.at(-1)?.[0] } : {};
  const contents = page.map(([Key, { body, etag: ETag, at }]) => {
    return `<Contents>${fields({ Key, LastModified: at.toISOString(), ETag, Size: String(body.length) })}</Contents>`;
  });
  return xmlAnswer(document('ListBucketResult', { ...head, ...next }, contents.join('')));
}

export function remove({ request: { key, number } }: Work, { objects, deleted }: Contents): Answer {
  if (objects.delete(key)) deleted.set(key, number);
  return { status: 204 };
}

/** The headers that are stored with an object. S3 removes `aws-chunked`, which only describes the transport. */
export function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': headers['content-type'] ?? 'binary/octet-stream' };
  const encoding = String(headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'aws-chunked');
  if (encoding.length > 0) kept['content-encoding'] = encoding.join(',');
  for (const [name, value] of Object.entries(headers)) {
    if (/^(content-disposition|cache-control|x-amz-meta-.*|x-amz-tagging)$/.test(name)) kept[name] = String(value);
  }
  return kept;
}
