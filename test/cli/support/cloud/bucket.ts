import { createHash } from 'node:crypto';
import { type Answers, Reply, refused, xml } from './answers.ts';
import type { Call } from './call.ts';
import type { World } from './world.ts';

/** The bucket of the deployment: objects by key, with range reads, listings by prefix and conditional writes. */
export function bucket({ objects, metadata, etags, written }: World): Answers {
  const get = (call: Call) => objectReply(call, objects.get(call.key), metadata.get(call.key), etags.get(call.key));
  return {
    ListObjectsV2: ({ input: { prefix = '' } }) => {
      const found = [...objects.keys()].filter((key) => key.startsWith(String(prefix))).sort();
      return listing(found.map((key) => [key, written.get(key) ?? new Date().toISOString()]));
    },
    GetObject: get,
    DeleteObject: ({ key }) => {
      objects.delete(key);
      return xml('');
    },
    HeadObject: get,
    PutObject: (call) => {
      if (objects.has(call.key) && call.headers['if-none-match'] === '*') return PRECONDITION;
      objects.set(call.key, unchunked(call));
      etags.delete(call.key);
      const told = Object.entries(call.headers).filter(([name]) => name.startsWith(META));
      metadata.set(call.key, Object.fromEntries(told.map(([name, value]) => [name.slice(META.length), String(value)])));
      return xml('');
    },
  };
}

const META = 'x-amz-meta-';
const PRECONDITION = refused('PreconditionFailed', 'refused', { status: 412 });

function listing(found: [key: string, at: string][]): Reply {
  const contents = found.map(([key, at]) => `<Contents><Key>${key}</Key><LastModified>${at}</LastModified></Contents>`);
  return xml(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`);
}

function objectReply(
  { headers }: Call,
  body: Buffer | undefined,
  metadata: Record<string, string> = {},
  stored?: string,
): Reply {
  if (!body) return refused('NoSuchKey', 'refused', { status: 404 });
  const etag = stored ?? `"${createHash('md5').update(body).digest('hex')}"`;
  if (headers['if-match'] && headers['if-match'] !== etag) return PRECONDITION;
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const part = body.subarray(Number(first ?? 0), last ? Number(last) + 1 : undefined);
  const told = Object.entries(metadata).map(([name, value]) => [`${META}${name}`, value] as const);
  return new Reply((response) => {
    response.writeHead(first ? 206 : 200, { ...Object.fromEntries(told), etag, 'content-length': part.length });
    response.end(part);
  });
}

/** The body without the frames of `aws-chunked`. */
function unchunked({ headers, body }: Call): Buffer {
  if (!String(headers['content-encoding']).includes('aws-chunked')) return body;
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    if (!size) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
