import { gzipSync } from 'node:zlib';
import { contentBytes, wholeContent } from './content.ts';
import type { Behaviour, FileOptions, OriginRequest } from './types.ts';

/** An answer before it is written: its status and headers, and its body. */
export interface Prepared {
  status: number;
  headers: Record<string, string>;
  /** The body, generated while it is sent. */
  body: Iterable<Buffer>;
  /** Bytes in `body`. */
  length: number;
}

type File = Required<Omit<FileOptions, 'script'>>;

const RANGE = /^bytes=(\d+)-(\d*)$/;

/** Applies a behaviour to the answer to this request, but not to the way of sending it. */
export function prepared(file: File, request: OriginRequest, behaviour: Behaviour): Prepared {
  const answer = whole(file, request, behaviour);
  for (const [name, value] of Object.entries(behaviour.headers ?? {})) {
    if (value === '') delete answer.headers[name];
    else answer.headers[name] = value;
  }
  return answer;
}

function whole(file: File, { range, headers }: OriginRequest, behaviour: Behaviour): Prepared {
  const { redirect, status, body, gzip } = behaviour;
  if (redirect !== undefined) return literal(302, '', { Location: redirect });
  if (body !== undefined || status !== undefined) return literal(status ?? 200, body ?? '', {});
  const etag = behaviour.etag === undefined ? file.etag : behaviour.etag;
  const about = {
    'Content-Type': file.contentType,
    'Accept-Ranges': 'bytes',
    ...(etag === null ? {} : { ETag: etag }),
  };
  if (gzip) {
    const packed = gzipSync(wholeContent(behaviour.seed ?? file.seed, file.size), { level: 1 });
    return literal(200, packed, { ...about, 'Content-Encoding': 'gzip' });
  }
  const match = headers['if-match'];
  if (match !== undefined && match !== etag) return literal(412, '', about);
  return partOf(file, behaviour.ignoreRange ? undefined : range, behaviour, about);
}

function partOf(file: File, range: string | undefined, behaviour: Behaviour, about: Record<string, string>): Prepared {
  const seed = behaviour.seed ?? file.seed;
  const { size } = file;
  const extra = behaviour.extraBytes ?? 0;
  const [, from, to] = RANGE.exec(range ?? '') ?? [];
  if (from === undefined) {
    return { status: 200, headers: about, body: contentBytes(seed, 0, size + extra), length: size };
  }
  const first = Number(from);
  const last = to ? Math.min(Number(to), size - 1) : size - 1;
  if (first >= size || first > last) return literal(416, '', { ...about, 'Content-Range': `bytes */${size}` });
  const contentRange = behaviour.contentRange ?? `bytes ${first}-${last}/${size}`;
  const headers = { ...about, 'Content-Range': contentRange };
  return { status: 206, headers, body: contentBytes(seed, first, last + 1 + extra), length: last + 1 - first };
}

function literal(status: number, body: string | Uint8Array, headers: Record<string, string>): Prepared {
  const bytes = Buffer.from(body);
  return { status, headers, body: bytes.length > 0 ? [bytes] : [], length: bytes.length };
}
