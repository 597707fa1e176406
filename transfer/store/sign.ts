import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { StoreOptions } from '../base/types.ts';

type Data = string | ArrayBuffer | ArrayBufferView;

/** Node's SHA-256 in the shape that the signer wants. */
class Sha256 {
  readonly #key: Uint8Array | undefined;
  #hash!: Hash | Hmac;

  constructor(key?: Data) {
    this.#key = key === undefined ? undefined : bytesOf(key);
    this.reset();
  }

  reset(): void {
    this.#hash = this.#key ? createHmac('sha256', this.#key) : createHash('sha256');
  }

  update(data: Data): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function bytesOf(data: Data): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

type Headers = Record<string, string>;

/** Returns the headers of the signed request. */
export type Sign = (method: string, url: URL, headers: Headers) => Promise<Headers>;

/**
 * Signs requests to the store (Signature Version 4). The body is not signed: TLS protects it, its CRC-32 proves what arrived,
 * and hashing it would cost a quarter of the transfer's CPU.
 */
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
