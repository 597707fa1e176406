import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Refusal } from './answers.ts';
import type { Settings } from './types.ts';

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks the signature of a request by the documentation of Signature Version 4, not by the library that made it.
 *
 * @throws Refusal AccessDenied, AuthorizationHeaderMalformed, InvalidAccessKeyId or SignatureDoesNotMatch
 */
export function checkSignature(request: IncomingMessage, settings: Settings): void {
  const { authorization, 'x-amz-date': date, 'x-amz-content-sha256': payload } = request.headers;
  if (authorization === undefined) throw new Refusal(403, 'AccessDenied', 'Access Denied');
  const [, key, day, region, signedHeaders, signature] = AUTHORIZATION.exec(authorization) ?? [];
  if (signature === undefined || region !== settings.region) {
    throw new Refusal(400, 'AuthorizationHeaderMalformed', `The authorization header is malformed: ${region}`);
  }
  if (key !== settings.accessKeyId) throw new Refusal(403, 'InvalidAccessKeyId', 'There is no such access key');
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
    hmac(`AWS4${settings.secretAccessKey}`, String(day)),
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
