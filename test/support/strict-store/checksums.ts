import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Refusal } from './answers.ts';
import type { OpenUpload, StoredPart, Work } from './types.ts';

/** A CRC32 as S3 writes it: four bytes, big-endian, in base64. */
export function base64Crc32(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes.toString('base64');
}

export function md5Etag(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

/** `md5(md5 of every part)-N`. */
export function multipartEtag(parts: StoredPart[]): string {
  const digests = parts.map(({ etag }) => Buffer.from(etag.slice(1, -1), 'hex'));
  return `"${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${parts.length}"`;
}

/** The CRC32 of all bytes. It deliberately does not combine the CRC32s of the parts. */
export function fullObjectCrc32(parts: StoredPart[]): string {
  return base64Crc32(parts.reduce((value, { body }) => crc32(body, value), 0));
}

export function compositeCrc32(parts: StoredPart[]): string {
  const values = parts.map((part) => Buffer.from(base64Crc32(part.crc32), 'base64'));
  return `${base64Crc32(crc32(Buffer.concat(values)))}-${parts.length}`;
}

/** Compares the sent CRC32 with that of the body (400 BadDigest, recorded on AWS by LocalStack's tests). */
export function checkDigest({ sentCrc32, body }: Work): void {
  if (sentCrc32 !== undefined && sentCrc32 !== base64Crc32(crc32(body))) throw badDigest('CRC32');
}

export function badDigest(algorithm: string): Refusal {
  return new Refusal(400, 'BadDigest', `The ${algorithm} you specified did not match the calculated checksum.`);
}

/**
 * A part must use the upload's own algorithm (recorded on AWS by LocalStack's tests). Without a checksum, a part is
 * refused in a composite upload and accepted in a full-object one (OpenStack Swift's tests, which run against AWS).
 */
export function checkPartAlgorithm({ request, sentCrc32 }: Work, { checksum }: OpenUpload): void {
  if (checksum === undefined) return;
  const other = Object.keys(request.headers)
    .map((name) => /^x-amz-checksum-(crc32c|crc64nvme|sha1|sha256)$/.exec(name)?.[1])
    .find((name) => name !== undefined);
  const bare = sentCrc32 === undefined && other === undefined;
  const taken = bare ? checksum === 'FULL_OBJECT' : other === undefined;
  if (taken) return;
  const message = `Checksum Type mismatch occurred, expected checksum Type: crc32, actual checksum Type: ${other ?? 'null'}`;
  throw new Refusal(400, 'InvalidRequest', message);
}
