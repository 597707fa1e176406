import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { StoreOptions } from '../base/types.ts';

/** Node's SHA-256 in the shape that the signer wants. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    // The cast: the signer passes text or a Uint8Array, of all that its type allows.
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key as string | Uint8Array);
  }

  update(data: string | NodeJS.ArrayBufferView): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

type Headers = Record<string, string>;

/** Returns the headers of the signed request. */
export type Sign = (method: string, url: URL, headers: Headers) => Promise<Headers>;

/** Signature Version 4 without the body: TLS protects it, its CRC-32 proves what arrived, and hashing it costs a quarter of the CPU. */
export function createSign({ region, credentials }: StoreOptions): Sign {
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  return async (method, url, headers) => {
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port && { port: Number(url.port) }),
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...headers, host: url.host },
    });
    return signed.headers;
  };
}
