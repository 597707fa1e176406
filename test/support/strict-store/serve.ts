import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import { document, errorXml, fields, noSuchUpload, Refusal, refusalAnswer, xmlAnswer } from './answers.ts';
import { base64Crc32, checkDigest, checkPartAlgorithm, md5Etag } from './checksums.ts';
import { complete, openUpload } from './complete.ts';
import { contentOf, rawBody, routed, withPauses } from './incoming.ts';
import { get, keptHeaders, list, put, remove, tag } from './objects.ts';
import {
  type Answer,
  BUCKET,
  type Call,
  type Contents,
  CREDENTIALS,
  type Fault,
  type OpenUpload,
  type Operation,
  REGION,
  type Settings,
  type Work,
} from './types.ts';

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

/** Serves one call from its first byte to its answer or its fault. */
export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  call: Call,
  contents: Contents,
  settings: Settings,
): Promise<void> {
  const fault = settings.faults(call);
  if (fault === 'reset') request.socket.resetAndDestroy();
  if (fault === 'reset' || fault === 'stall') return;
  if (hasKey(fault, 'resetAfter')) {
    resetAfter(request, fault.resetAfter);
    return;
  }
  const raw = await rawBody(hasKey(fault, 'pausesEvery') ? withPauses(request, fault) : request);
  if (raw === undefined) return;
  if (hasKey(fault, 'waitFor')) await fault.waitFor;
  const answer = answerTo(request, raw, fault, call, contents, settings);
  if (fault === 'lostAnswer') request.socket.resetAndDestroy();
  if (fault === 'lostAnswer' || fault === 'stallAnswer') return;
  call.status = answer.status;
  call.code = /<Code>(.*?)<\/Code>/.exec(String(answer.body ?? ''))?.[1];
  send(request, response, answer, hasKey(fault, 'breakAfter') ? fault.breakAfter : undefined);
}

function hasKey<Name extends string>(
  fault: Fault | undefined,
  name: Name,
): fault is Extract<Fault, Record<Name, unknown>> {
  return typeof fault === 'object' && name in fault;
}

function resetAfter(request: IncomingMessage, limit: number): void {
  let read = 0;
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read >= limit) request.socket.resetAndDestroy();
  });
  request.on('end', () => request.socket.resetAndDestroy());
}

function answerTo(
  request: IncomingMessage,
  raw: Buffer,
  fault: Fault | undefined,
  call: Call,
  contents: Contents,
  settings: Settings,
): Answer {
  const { bucket, query } = routed(request);
  const id = query.get('uploadId') ?? '';
  try {
    checkSignature(request);
    if (bucket !== BUCKET) throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (hasKey(fault, 'status')) return trouble(fault);
    if (hasKey(fault, 'page')) return { status: 200, headers: { 'content-type': 'text/html' }, body: fault.page };
    if (hasKey(fault, 'errorIn200')) return lateError(fault.errorIn200);
    const work: Work = { request: call, query, ...contentOf(request, raw, settings) };
    call.bytes = work.body.length;
    if (fault === 'corrupt') Object.assign(work, { body: flipped(work.body) });
    const upload = contents.uploads.get(id);
    if (fault === 'conflict409' && upload) upload.dead = true;
    if (fault === 'conflict409' && !upload) throw new Refusal(409, 'ConditionalRequestConflict', 'conflict');
    const answer = carryOut(work, contents, settings);
    if (fault === 'noSuchUploadAfterSuccess') throw noSuchUpload(id);
    return answer;
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error);
    throw error;
  }
}

function trouble({ status, code, headers = {} }: Extract<Fault, { status: number }>): Answer {
  return xmlAnswer(errorXml(code, 'This is a drill.'), status, headers);
}

/** S3 sends white space while it assembles a large object, and reports an error only after that. */
function lateError(code: string): Answer {
  const xml = errorXml(code, 'This is a drill.');
  const [declaration = '', rest = ''] = xml.split('\n');
  return xmlAnswer(`${declaration}\n\n  \n${rest}`);
}

function flipped(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] ?? 0) ^ 1;
  return copy;
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers = {}, body = '' }: Answer,
  breakAfter?: number,
): void {
  const withoutBody = request.method === 'HEAD' || status === 204;
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { 'x-amz-request-id': 'TESTREQUEST', ...headers, ...length });
  if (breakAfter === undefined) response.end(withoutBody ? undefined : body);
  else response.write(Buffer.from(body).subarray(0, breakAfter), () => response.destroy());
}

const LARGEST_PART_NUMBER = 10_000;

/** CRC32 without a checksum type means composite (recorded on AWS by LocalStack's tests). */
function create({ request }: Work, { uploads }: Contents, { checksums }: Settings): Answer {
  const { 'x-amz-checksum-algorithm': algorithm, 'x-amz-checksum-type': type } = request.headers;
  if (type !== undefined && algorithm === undefined) {
    const message = 'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.';
    throw new Refusal(400, 'InvalidRequest', message);
  }
  if (algorithm !== undefined && algorithm !== 'CRC32') {
    throw new Refusal(501, 'NotImplemented', 'This store knows CRC32 only');
  }
  const wanted = type === 'FULL_OBJECT' ? 'FULL_OBJECT' : 'COMPOSITE';
  const checksum = algorithm === undefined || checksums === 'none' ? undefined : wanted;
  const id = randomUUID();
  const headers = keptHeaders(request.headers);
  uploads.set(id, { id, key: request.key, begun: request.number, checksum, headers, parts: new Map(), dead: false });
  const result = document('InitiateMultipartUploadResult', { Bucket: BUCKET, Key: request.key, UploadId: id });
  const known = checksum && { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': checksum };
  return xmlAnswer(result, 200, known);
}

function uploadPart(work: Work, contents: Contents, settings: Settings): Answer {
  const { partNumber = 0 } = work.request;
  if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > LARGEST_PART_NUMBER) {
    const message = `Part number must be an integer between 1 and ${LARGEST_PART_NUMBER}, inclusive`;
    throw new Refusal(400, 'InvalidArgument', message, {
      ArgumentName: 'partNumber',
      ArgumentValue: String(partNumber),
    });
  }
  const upload = openUpload(work, contents);
  checkPartAlgorithm(work, upload);
  if (settings.checksums !== 'none') checkDigest(work);
  const part = { body: work.body, etag: md5Etag(work.body), crc32: crc32(work.body) };
  upload.parts.set(partNumber, part);
  const answered = upload.checksum ? base64Crc32(part.crc32) : work.sentCrc32;
  const headers: Record<string, string> = { etag: part.etag };
  if (settings.checksums !== 'none' && answered !== undefined) headers['x-amz-checksum-crc32'] = answered;
  return { status: 200, headers };
}

function listParts(work: Work, contents: Contents, settings: Settings): Answer {
  const upload = openUpload(work, contents);
  const marker = Number(work.query.get('part-number-marker') ?? 0);
  const pageSize = Math.min(Number(work.query.get('max-parts') ?? settings.pageSize), settings.pageSize);
  const rest = [...upload.parts].filter(([number]) => number > marker).sort(([a], [b]) => a - b);
  const page = rest.slice(0, pageSize);
  const head = {
    Bucket: BUCKET,
    Key: upload.key,
    UploadId: upload.id,
    StorageClass: 'STANDARD',
    PartNumberMarker: String(marker),
    NextPartNumberMarker: String(page.at(-1)?.[0] ?? 0),
    MaxParts: String(pageSize),
    IsTruncated: String(rest.length > page.length),
    ...(upload.checksum ? { ChecksumAlgorithm: 'CRC32', ChecksumType: upload.checksum } : {}),
  };
  return xmlAnswer(document('ListPartsResult', head, page.map((entry) => partXml(entry, upload)).join('')));
}

function partXml([number, part]: [number, { body: Buffer; etag: string; crc32: number }], upload: OpenUpload): string {
  const known = upload.checksum ? { ChecksumCRC32: base64Crc32(part.crc32) } : {};
  const size = String(part.body.length);
  const date = '2026-01-01T00:00:00.000Z';
  return `<Part>${fields({ PartNumber: String(number), LastModified: date, ETag: part.etag, Size: size, ...known })}</Part>`;
}

function abort(work: Work, contents: Contents): Answer {
  contents.uploads.delete(openUpload(work, contents).id);
  return { status: 204 };
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks the signature of a request by the documentation of Signature Version 4, independently of the signing library.
 *
 * @throws Refusal AccessDenied, AuthorizationHeaderMalformed, InvalidAccessKeyId or SignatureDoesNotMatch
 */
function checkSignature(request: IncomingMessage): void {
  const { authorization, 'x-amz-date': date, 'x-amz-content-sha256': payload } = request.headers;
  if (authorization === undefined) throw new Refusal(403, 'AccessDenied', 'Access Denied');
  const [, key, day, region, signedHeaders, signature] = AUTHORIZATION.exec(authorization) ?? [];
  if (signature === undefined || region !== REGION) {
    throw new Refusal(400, 'AuthorizationHeaderMalformed', `The authorization header is malformed: ${region}`);
  }
  if (key !== CREDENTIALS.accessKeyId) throw new Refusal(403, 'InvalidAccessKeyId', 'There is no such access key');
  if (typeof date !== 'string' || !date.startsWith(`${day}T`) || typeof payload !== 'string') {
    throw new Refusal(403, 'AccessDenied', 'x-amz-date and x-amz-content-sha256 are required');
  }
  const names = String(signedHeaders).split(';');
  checkThatAllAreSigned(request, names);
  const scope = `${day}/${region}/s3/aws4_request`;
  const canonical = createHash('sha256')
    .update(canonicalRequest(request, names, payload))
    .digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', date, scope, canonical].join('\n');
  const signing = [region, 's3', 'aws4_request'].reduce<Buffer>(
    (secret, text) => hmac(secret, text),
    hmac(`AWS4${CREDENTIALS.secretAccessKey}`, String(day)),
  );
  if (!timingSafeEqual(hmac(signing, toSign), Buffer.from(signature, 'hex'))) {
    throw new Refusal(
      403,
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided.',
    );
  }
}

function checkThatAllAreSigned(request: IncomingMessage, names: string[]): void {
  const due = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  const unsigned = due.filter((name) => !names.includes(name));
  if (unsigned.length > 0) {
    const message = 'There were headers present in the request which were not signed';
    throw new Refusal(403, 'AccessDenied', message, { HeadersNotSigned: unsigned.join(', ') });
  }
}

function canonicalRequest({ method, url, headers }: IncomingMessage, names: string[], payload: string): string {
  const [path = '', query = ''] = String(url).split('?');
  const parameters = [...new URLSearchParams(query)]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const lines = names.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`).join('');
  return [method, path, parameters, lines, names.join(';'), payload].join('\n');
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
