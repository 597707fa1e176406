import { createHash, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import {
  type Answer,
  BUCKET,
  type Contents,
  type OpenUpload,
  type Operation,
  Refusal,
  type Settings,
  type StoredObject,
  type StoredPart,
  type Work,
} from './types.ts';

/** The operations of S3, with answers and refusals as LocalStack's tests recorded them on AWS. */

const DO: Record<Operation, (work: Work, contents: Contents, settings: Settings) => Answer> = {
  CreateMultipartUpload: create,
  UploadPart: uploadPart,
  ListParts: listParts,
  CompleteMultipartUpload: complete,
  AbortMultipartUpload: abort,
  PutObject: put,
  PutObjectTagging: tag,
  HeadObject: get,
  GetObject: get,
  ListObjectsV2: list,
  DeleteObject: remove,
};

/** Carries out a call as S3 does. @throws Refusal */
export function carryOut(work: Work, contents: Contents, settings: Settings): Answer {
  return DO[work.request.operation](work, contents, settings);
}

/** A CRC32 as S3 writes it: four bytes, big-endian, in base64. */
export function base64Crc32(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes.toString('base64');
}

export function md5Etag(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

function checkDigest({ sentCrc32, body }: Work): void {
  if (sentCrc32 !== undefined && sentCrc32 !== base64Crc32(crc32(body))) throw new Refusal(400, 'BadDigest');
}

/** @throws Refusal 412 or 404 if a condition fails, 501 for an If-None-Match other than `*` */
function checkConditions({ request: { headers, key } }: Work, { objects }: Contents): void {
  const { 'if-none-match': absent, 'if-match': etag } = headers;
  const standing = objects.get(key);
  if (absent !== undefined && absent !== '*') throw new Refusal(501, 'NotImplemented');
  if (absent !== undefined && standing) throw new Refusal(412, 'PreconditionFailed');
  if (etag === undefined || etag === standing?.etag) return;
  throw standing ? new Refusal(412, 'PreconditionFailed') : new Refusal(404, 'NoSuchKey');
}

function put(work: Work, contents: Contents): Answer {
  const { key, headers } = work.request;
  checkConditions(work, contents);
  checkDigest(work);
  const value = base64Crc32(crc32(work.body));
  const etag = md5Etag(work.body);
  contents.objects.set(key, { body: work.body, etag, crc32: value, headers: keptHeaders(headers), at: new Date() });
  return { status: 200, headers: { etag, ...checksumHeaders(value) } };
}

const checksumHeaders = (value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { 'x-amz-checksum-crc32': value, 'x-amz-checksum-type': 'FULL_OBJECT' };

/** PutObjectTagging. No test reads the tags. */
function tag({ request: { key } }: Work, { objects }: Contents): Answer {
  if (!objects.has(key)) throw new Refusal(404, 'NoSuchKey');
  return { status: 200, headers: {} };
}

/** HeadObject and GetObject. The checksum is returned only on request, and never with a part of the object. */
function get(work: Work, contents: Contents): Answer {
  const { key, headers } = work.request;
  const object = contents.objects.get(key);
  if (object === undefined) throw new Refusal(404, 'NoSuchKey');
  checkConditions(work, contents);
  const range = rangeOf(headers.range, object.body.length);
  const asked = headers['x-amz-checksum-mode'] === 'ENABLED' && range === undefined;
  return {
    status: range ? 206 : 200,
    headers: {
      ...object.headers,
      etag: object.etag,
      'accept-ranges': 'bytes',
      'last-modified': object.at.toUTCString(),
      ...(asked && checksumHeaders(object.crc32)),
      ...(range && { 'content-range': `bytes ${range.first}-${range.last}/${object.body.length}` }),
    },
    body: range ? object.body.subarray(range.first, range.last + 1) : object.body,
  };
}

/** Undefined = the whole object: no range, or a range that S3 does not understand. */
function rangeOf(header: string | undefined, size: number): { first: number; last: number } | undefined {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === undefined) return undefined;
  const first = Number(from);
  const last = to ? Math.min(Number(to), size - 1) : size - 1;
  if (first >= size) throw new Refusal(416, 'InvalidRange');
  return first > last ? undefined : { first, last };
}

/** ListObjectsV2. A page starts after the last key of the previous one. */
function list({ query }: Work, { objects }: Contents, { pageSize }: Settings): Answer {
  const prefix = query.get('prefix') ?? '';
  const after = query.get('continuation-token') ?? '';
  const most = Math.min(Number(query.get('max-keys') ?? pageSize), pageSize);
  const found = [...objects]
    .filter(([key]) => key.startsWith(prefix) && key > after)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const page = found.slice(0, most);
  const IsTruncated = found.length > most;
  const NextContinuationToken = IsTruncated ? page.at(-1)?.[0] : undefined;
  const contents = page.map(([Key, { body, etag: ETag, at }]) => {
    return `<Contents>${fields({ Key, LastModified: at.toISOString(), ETag, Size: body.length })}</Contents>`;
  });
  const head = { Name: BUCKET, Prefix: prefix, KeyCount: page.length, IsTruncated, NextContinuationToken };
  return xmlAnswer(document('ListBucketResult', head, contents.join('')));
}

function remove({ request: { key } }: Work, { objects }: Contents): Answer {
  objects.delete(key);
  return { status: 204 };
}

/** The headers that are stored with an object. S3 removes `aws-chunked`, which only describes the transport. */
function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = { 'content-type': headers['content-type'] ?? 'binary/octet-stream' };
  const encoding = (headers['content-encoding'] ?? '').split(/, */).filter((name) => name && name !== 'aws-chunked');
  if (encoding.length > 0) kept['content-encoding'] = encoding.join(',');
  for (const [name, value] of Object.entries(headers)) {
    if (/^(content-disposition|cache-control|x-amz-meta-.*|x-amz-tagging)$/.test(name)) kept[name] = String(value);
  }
  return kept;
}

/** CRC32 without a checksum type means composite. */
function create({ request }: Work, { uploads }: Contents): Answer {
  const { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': type } = request.headers;
  if (type !== undefined && algorithm === undefined) throw new Refusal(400, 'InvalidRequest');
  if (algorithm !== undefined && algorithm !== 'CRC32') throw new Refusal(501, 'NotImplemented');
  const wanted = type === 'FULL_OBJECT' ? 'FULL_OBJECT' : 'COMPOSITE';
  const checksum = algorithm === undefined ? undefined : wanted;
  const id = randomUUID();
  const headers = keptHeaders(request.headers);
  uploads.set(id, { id, key: request.key, checksum, headers, parts: new Map(), dead: false });
  return xmlAnswer(document('InitiateMultipartUploadResult', { Bucket: BUCKET, Key: request.key, UploadId: id }));
}

const LARGEST_PART_NUMBER = 10_000;

function uploadPart(work: Work, contents: Contents): Answer {
  const { partNumber = 0 } = work.request;
  const known = Number.isInteger(partNumber) && partNumber >= 1 && partNumber <= LARGEST_PART_NUMBER;
  if (!known) throw new Refusal(400, 'InvalidArgument');
  const upload = openUpload(work, contents);
  checkDigest(work);
  const part = { body: work.body, etag: md5Etag(work.body), crc32: crc32(work.body) };
  upload.parts.set(partNumber, part);
  return { status: 200, headers: { etag: part.etag } };
}

function listParts(work: Work, contents: Contents, { pageSize }: Settings): Answer {
  const upload = openUpload(work, contents);
  const marker = Number(work.query.get('part-number-marker') ?? 0);
  const rest = [...upload.parts].sort(([one], [other]) => one - other).filter(([number]) => number > marker);
  const page = rest.slice(0, pageSize);
  const parts = page.map(([PartNumber, { body, etag: ETag, crc32: value }]) => {
    const ChecksumCRC32 = upload.checksum && base64Crc32(value);
    return `<Part>${fields({ PartNumber, ETag, Size: body.length, ChecksumCRC32 })}</Part>`;
  });
  const head = { NextPartNumberMarker: page.at(-1)?.[0] ?? 0, IsTruncated: rest.length > page.length };
  return xmlAnswer(document('ListPartsResult', head, parts.join('')));
}

function abort(work: Work, contents: Contents): Answer {
  contents.uploads.delete(openUpload(work, contents).id);
  return { status: 204 };
}

function openUpload({ request, query }: Work, { uploads }: Contents): OpenUpload {
  const upload = uploads.get(query.get('uploadId') ?? '');
  if (upload === undefined || upload.key !== request.key) throw new Refusal(404, 'NoSuchUpload');
  return upload;
}

/** CompleteMultipartUpload. The order of its refusals is not recorded; here the conditions come first. */
function complete(work: Work, contents: Contents, settings: Settings): Answer {
  const { key } = work.request;
  const before = contents.completed.get(work.query.get('uploadId') ?? '');
  if (before && settings.completeAgain === 'same answer') return before;
  if (before && settings.completeAgain === 'ConditionalRequestConflict') throw new Refusal(409, settings.completeAgain);
  if (before && settings.completeAgain === 'PreconditionFailed') checkConditions(work, contents);
  const upload = openUpload(work, contents);
  const named = namedParts(work.body.toString('utf8'));
  checkConditions(work, contents);
  if (upload.dead) throw new Refusal(409, 'ConditionalRequestConflict');
  const parts = chosenParts(named, upload, settings);
  const body = Buffer.concat(parts.map((part) => part.body));
  const object = { body, etag: multipartEtag(parts), crc32: checkedCrc32(work, upload, body) };
  const { 'x-amz-mp-object-size': size = String(body.length) } = work.request.headers;
  if (size !== String(body.length)) throw new Refusal(400, 'InvalidRequest');
  contents.objects.set(key, { ...object, headers: upload.headers, at: new Date() } satisfies StoredObject);
  contents.uploads.delete(upload.id);
  const result = { Location: `/${key}`, Bucket: BUCKET, Key: key, ETag: object.etag, ChecksumCRC32: object.crc32 };
  const answer = xmlAnswer(document('CompleteMultipartUploadResult', result));
  contents.completed.set(upload.id, answer);
  return answer;
}

interface NamedPart {
  number: number;
  etag: string;
  crc32: string | undefined;
}

function namedParts(xml: string): NamedPart[] {
  const element = (part: string, name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(part)?.[1];
  const parts = [...xml.matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => ({
    number: Number(element(part, 'PartNumber')),
    etag: (element(part, 'ETag') ?? '').replaceAll(/"|&(?:quot|#34|#x22);/g, ''),
    crc32: element(part, 'ChecksumCRC32'),
  }));
  const isList = /<CompleteMultipartUpload\b[^>]*?(?:\/>|>[\s\S]*<\/CompleteMultipartUpload>)\s*$/.test(xml);
  const isValid = isList && parts.every(({ number, etag }) => Number.isInteger(number) && etag !== '');
  if (!isValid) throw new Refusal(400, 'MalformedXML');
  if (parts.length === 0) throw new Refusal(400, 'InvalidRequest');
  return parts;
}

function chosenParts(named: NamedPart[], upload: OpenUpload, { minPartBytes }: Settings): StoredPart[] {
  const isOrdered = named.every(({ number }, index) => number > (named[index - 1]?.number ?? 0));
  if (!isOrdered) throw new Refusal(400, 'InvalidPartOrder');
  const parts = named.map(({ number, etag, crc32: sent }) => {
    const part = upload.parts.get(number);
    const isOther = sent !== undefined && part && sent !== base64Crc32(part.crc32);
    if (part?.etag !== `"${etag}"` || isOther) throw new Refusal(400, 'InvalidPart');
    return part;
  });
  if (parts.slice(0, -1).some(({ body }) => body.length < minPartBytes)) throw new Refusal(400, 'EntityTooSmall');
  return parts;
}

/** `md5(md5 of every part)-N`. */
function multipartEtag(parts: StoredPart[]): string {
  const digests = parts.map(({ etag }) => Buffer.from(etag.slice(1, -1), 'hex'));
  return `"${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${parts.length}"`;
}

/**
 * The object's checksum over all bytes, deliberately not combined from those of the parts; undefined for a composite
 * one. A sent value counts only together with its type.
 */
function checkedCrc32({ request: { headers } }: Work, { checksum }: OpenUpload, body: Buffer): string | undefined {
  const { 'x-amz-checksum-type': type, 'x-amz-checksum-crc32': sent } = headers;
  if (type !== undefined && type !== checksum) throw new Refusal(400, 'InvalidRequest');
  if (checksum !== 'FULL_OBJECT') return undefined;
  const right = base64Crc32(crc32(body));
  if (sent !== undefined && (sent !== right || type === undefined)) throw new Refusal(400, 'BadDigest');
  return right;
}

export function refusalAnswer({ status, code }: Refusal): Answer {
  return xmlAnswer(document('Error', { Code: code, Message: 'This is a drill.' }), status);
}

export function xmlAnswer(body: string, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/xml' }, body };
}

type Elements = Record<string, string | number | boolean | undefined>;

/** An S3 response with these elements in this order; `inner` is XML and comes last. */
export function document(root: string, elements: Elements, inner = ''): string {
  const namespace = root === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace}>${fields(elements)}${inner}</${root}>`;
}

function fields(elements: Elements): string {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  return Object.entries(elements)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `<${name}>${escaped(String(value))}</${name}>`)
    .join('');
}
