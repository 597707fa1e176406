import type { FileContent } from '../world/content.ts';

/** What to answer to a GET of a file, before any fault: `to` is exclusive. */
export interface Plan {
  status: 200 | 206 | 412 | 416;
  from: number;
  to: number;
  contentRange?: string;
}

type Conditions = Record<'range' | 'ifMatch' | 'ifRange', string | undefined>;

/** The one range of `bytes=a-b`, `bytes=a-` or `bytes=-n`; null where no byte of it exists; undefined where it is none. */
function parseRange(range: string, size: number): { from: number; to: number } | null | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(range);
  const first = match?.[1] ?? '';
  const last = match?.[2] ?? '';
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? null : { from: size - length, to: size };
  }
  const from = Number(first);
  const to = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= size ? null : { from, to };
}

/** Applies If-Match, If-Range and Range (RFC 9110, sections 13 and 14). Several ranges at once are answered in full. */
export function plan({ size }: FileContent, etag: string, { range, ifMatch, ifRange }: Conditions): Plan {
  const full: Plan = { status: 200, from: 0, to: size };
  const matches = ifMatch === undefined || ifMatch.split(',').some((entry) => ['*', etag].includes(entry.trim()));
  if (!matches) return { status: 412, from: 0, to: 0 };
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return full;
  const wanted = parseRange(range, size);
  if (wanted === undefined) return full;
  if (wanted === null) return { status: 416, from: 0, to: 0, contentRange: `bytes */${size}` };
  return { status: 206, ...wanted, contentRange: `bytes ${wanted.from}-${wanted.to - 1}/${size}` };
}
