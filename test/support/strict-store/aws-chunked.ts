import { Refusal } from './answers.ts';

/** All chunks but the last are at least this long on AWS (documentation, and versitygw does the same). */
const MIN_CHUNK_BYTES = 8192;

/**
 * Takes the framing of `STREAMING-UNSIGNED-PAYLOAD-TRAILER` off a body.
 *
 * @throws Refusal as S3 answers: IncompleteBody, InvalidChunkSizeError, MalformedTrailerError
 */
export function decodeChunked(body: Buffer, decodedLength: number): { body: Buffer; trailers: Map<string, string> } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const size = end < 0 ? '' : body.toString('latin1', at, end);
    if (!/^[0-9a-fA-F]{1,16}$/.test(size)) throw incomplete();
    const length = Number.parseInt(size, 16);
    at = end + 2;
    if (length === 0) break;
    if (body.toString('latin1', at + length, at + length + 2) !== '\r\n') throw incomplete();
    chunks.push(body.subarray(at, at + length));
    at += length + 2;
  }
  checkSizes(chunks);
  const decoded = Buffer.concat(chunks);
  if (decoded.length !== decodedLength) throw incomplete();
  return { body: decoded, trailers: trailersOf(body.toString('latin1', at)) };
}

function checkSizes(chunks: Buffer[]): void {
  if (chunks.slice(0, -1).some((chunk) => chunk.length < MIN_CHUNK_BYTES)) {
    const message = `Only the last chunk is allowed to have a size less than ${MIN_CHUNK_BYTES} bytes`;
    throw new Refusal(400, 'InvalidChunkSizeError', message);
  }
}

function trailersOf(text: string): Map<string, string> {
  const trailers = new Map<string, string>();
  if (!text.endsWith('\r\n')) throw malformed();
  for (const line of text.split('\r\n').filter((line) => line !== '')) {
    const [, name, value] = /^([a-z0-9-]+):\s*(\S+)$/i.exec(line) ?? [];
    if (name === undefined || value === undefined) throw malformed();
    trailers.set(name.toLowerCase(), value);
  }
  return trailers;
}

function incomplete(): Refusal {
  return new Refusal(
    400,
    'IncompleteBody',
    'You did not provide the number of bytes specified by the Content-Length HTTP header',
  );
}

/** A trailer that was announced and did not come, or is no trailer. */
export function malformed(): Refusal {
  const message =
    'The request contained trailing data that was not well-formed or did not conform to our published schema.';
  return new Refusal(400, 'MalformedTrailerError', message);
}
