import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { document, fields, Refusal, xmlAnswer } from './answers.ts';
import { base64Crc32, checkDigest, checkPartAlgorithm, md5Etag } from './checksums.ts';
import { openUpload } from './complete.ts';
import { keptHeaders } from './objects.ts';
import type { Answer, Contents, OpenUpload, Settings, Work } from './types.ts';

const LARGEST_PART_NUMBER = 10_000;

/** A checksum of CRC32 without a type is a composite one (recorded on AWS by LocalStack's tests). */
export function create({ request }: Work, { uploads }: Contents, { bucket, checksums }: Settings): Answer {
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
  const result = document('InitiateMultipartUploadResult', { Bucket: bucket, Key: request.key, UploadId: id });
  const known = checksum && { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': checksum };
  return xmlAnswer(result, 200, known);
}

export function uploadPart(work: Work, contents: Contents, settings: Settings): Answer {
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

export function listParts(work: Work, contents: Contents, settings: Settings): Answer {
  const upload = openUpload(work, contents);
  const marker = Number(work.query.get('part-number-marker') ?? 0);
  const pageSize = Math.min(Number(work.query.get('max-parts') ?? settings.pageSize), settings.pageSize);
  const rest = [...upload.parts].filter(([number]) => number > marker).sort(([a], [b]) => a - b);
  const page = rest.slice(0, pageSize);
  const head = {
    Bucket: settings.bucket,
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

export function abort(work: Work, contents: Contents): Answer {
  contents.uploads.delete(openUpload(work, contents).id);
  return { status: 204 };
}
