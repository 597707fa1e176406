import { conflict, document, invalidPart, noSuchUpload, Refusal, unescaped, xmlAnswer } from './answers.ts';
import { badDigest, base64Crc32, compositeCrc32, fullObjectCrc32, multipartEtag } from './checksums.ts';
import { checkIfMatch, checkIfNoneMatch } from './objects.ts';
import {
  type Answer,
  BUCKET,
  type Contents,
  type OpenUpload,
  type Settings,
  type StoredObject,
  type StoredPart,
  type Work,
} from './types.ts';

interface NamedPart {
  number: number;
  etag: string;
  crc32: string | undefined;
}

/**
 * CompleteMultipartUpload. LocalStack's tests recorded every refusal on AWS: NoSuchUpload, InvalidRequest (no parts,
 * another checksum type, another size), InvalidPart, InvalidPartOrder, EntityTooSmall, BadDigest, PreconditionFailed,
 * ConditionalRequestConflict. Their order is not recorded; here the conditions come first.
 */
export function complete(work: Work, contents: Contents, settings: Settings): Answer {
  const { key, headers } = work.request;
  const before = contents.completed.get(work.query.get('uploadId') ?? '');
  if (before && settings.completeAgain === 'same answer') return before;
  if (before && settings.completeAgain === 'ConditionalRequestConflict') throw conflict(key);
  if (before && settings.completeAgain === 'PreconditionFailed') checkIfNoneMatch(headers, contents.objects.get(key));
  const upload = openUpload(work, contents);
  const named = namedParts(work.body.toString('utf8'));
  checkConditions(work, upload, contents);
  const parts = chosenParts(named, upload, settings);
  const crc32 = settings.checksums === 'none' ? undefined : checkedCrc32(work, upload, parts);
  const body = Buffer.concat(parts.map((part) => part.body));
  checkSize(work, body.length);
  const checksumType = upload.checksum ?? 'FULL_OBJECT';
  const etag = multipartEtag(parts);
  const object: StoredObject = { body, etag, crc32, checksumType, headers: upload.headers, at: new Date() };
  contents.objects.set(key, object);
  contents.uploads.delete(upload.id);
  const checksum = crc32 === undefined ? {} : { ChecksumCRC32: crc32, ChecksumType: checksumType };
  const result = { Location: `/${key}`, Bucket: BUCKET, Key: key, ETag: object.etag, ...checksum };
  const answer = xmlAnswer(document('CompleteMultipartUploadResult', result));
  contents.completed.set(upload.id, answer);
  return answer;
}

export function openUpload({ request, query }: Work, { uploads }: Contents): OpenUpload {
  const id = query.get('uploadId') ?? '';
  const upload = uploads.get(id);
  if (upload === undefined || upload.key !== request.key) throw noSuchUpload(id);
  return upload;
}

function namedParts(xml: string): NamedPart[] {
  const list = /<CompleteMultipartUpload\b[^>]*?(?:\/>|>([\s\S]*)<\/CompleteMultipartUpload>)\s*$/.exec(xml);
  const parts = [...(list?.[1] ?? '').matchAll(/<Part>([\s\S]*?)<\/Part>/g)].map(([, part = '']) => ({
    number: Number(element(part, 'PartNumber')),
    etag: unescaped(element(part, 'ETag') ?? '').replaceAll('"', ''),
    crc32: element(part, 'ChecksumCRC32'),
  }));
  if (list === null || parts.some(({ number, etag }) => !Number.isInteger(number) || etag === '')) {
    const message = 'The XML you provided was not well-formed or did not validate against our published schema';
    throw new Refusal(400, 'MalformedXML', message);
  }
  if (parts.length === 0) throw new Refusal(400, 'InvalidRequest', 'You must specify at least one part');
  return parts;
}

function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
}

function checkConditions({ request: { headers, key } }: Work, upload: OpenUpload, contents: Contents): void {
  checkIfNoneMatch(headers, contents.objects.get(key));
  checkIfMatch(headers, contents.objects.get(key));
  const deletedSince = (contents.deleted.get(key) ?? 0) > upload.begun;
  if (headers['if-none-match'] !== undefined && deletedSince) upload.dead = true;
  if (upload.dead) throw conflict(key);
}

function chosenParts(named: NamedPart[], upload: OpenUpload, settings: Settings): StoredPart[] {
  if (named.some(({ number }, index) => number <= (named[index - 1]?.number ?? 0))) {
    const message = 'The list of parts was not in ascending order. Parts must be ordered by part number.';
    throw new Refusal(400, 'InvalidPartOrder', message, { UploadId: upload.id });
  }
  const parts = named.map((name) => chosenPart(name, upload, settings));
  const small = parts.slice(0, -1).findIndex(({ body }) => body.length < settings.minPartBytes);
  const tooSmall = parts[small];
  if (tooSmall === undefined) return parts;
  throw new Refusal(400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
    ProposedSize: String(tooSmall.body.length),
    MinSizeAllowed: String(settings.minPartBytes),
    PartNumber: String(named[small]?.number),
    ETag: tooSmall.etag,
  });
}

function chosenPart({ number, etag, crc32 }: NamedPart, upload: OpenUpload, settings: Settings): StoredPart {
  const part = upload.parts.get(number);
  if (part?.etag !== `"${etag}"`) throw invalidPart(upload.id, number, etag);
  if (upload.checksum === 'COMPOSITE' && crc32 === undefined) {
    const message = `The upload was created using a crc32 checksum. The complete request must include the checksum for each part. It was missing for part ${number} in the request.`;
    throw new Refusal(400, 'InvalidRequest', message);
  }
  // A store without checksums ignores checksum elements.
  if (settings.checksums === 'none') return part;
  const right = upload.checksum === undefined ? undefined : base64Crc32(part.crc32);
  if (crc32 !== undefined && crc32 !== right) throw invalidPart(upload.id, number, etag);
  return part;
}

/** The object's checksum; a full-object value counts only together with its type, as recorded on AWS. */
function checkedCrc32({ request: { headers } }: Work, { checksum }: OpenUpload, parts: StoredPart[]) {
  const { 'x-amz-checksum-type': type, 'x-amz-checksum-crc32': sent } = headers;
  if (type !== undefined && type !== checksum) {
    const message = `The upload was created using the ${checksum ?? 'null'} checksum mode. The complete request must use the same checksum mode.`;
    throw new Refusal(400, 'InvalidRequest', message);
  }
  if (checksum === undefined) return undefined;
  const right = checksum === 'COMPOSITE' ? compositeCrc32(parts) : fullObjectCrc32(parts);
  const typed = checksum === 'COMPOSITE' || type === 'FULL_OBJECT';
  if (sent !== undefined && (sent !== right || !typed)) throw badDigest('crc32');
  return right;
}

function checkSize({ request: { headers } }: Work, computed: number): void {
  const size = headers['x-amz-mp-object-size'];
  if (size === undefined || size === String(computed)) return;
  const message = `The provided 'x-amz-mp-object-size' header value ${size} does not match what was computed: ${computed}`;
  throw new Refusal(400, 'InvalidRequest', message);
}
