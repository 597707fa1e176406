import type { FieldIndex } from './field-names.ts';

/** Keys of the objects that may be its first record. */
interface JsonStart {
  /** Keys of the outermost object, where it is one: a record of JSON Lines. */
  outer: string[];
  /** Keys of the first object in a list. */
  listed: string[];
  /** The text is an empty list. */
  empty: boolean;
}

const TOKEN = /"((?:[^"\\]|\\.)*)"(\s*:)?|[[\]{}]/g;

/**
 * Whether all keys of the outermost object, or of the first one in a list, are names or labels of fields. `undefined`:
 * more has to be seen.
 * @param complete whether `text` is the whole file
 */
export function provesJson(text: string, complete: boolean, index: FieldIndex): boolean | undefined {
  const { outer, listed, empty } = jsonStart(text);
  if (empty) return true;
  if ([outer, listed].some((keys) => keys.length > 0 && keys.every(index.isListed))) return true;
  // A list may still follow.
  return listed.length > 0 || complete ? false : undefined;
}

function jsonStart(text: string): JsonStart {
  const start: JsonStart = { outer: [], listed: [], empty: /^\s*\[\s*\]\s*$/.test(text) };
  const open: string[] = [];
  let listedAt = 0;
  for (const [token, key, colon] of text.matchAll(TOKEN)) {
    if (key === undefined) {
      nest(open, token);
      // The first record has ended, or the outermost object has.
      if (open.length < listedAt || open.length === 0) break;
    } else if (colon && open.join('') === '{') {
      start.outer.push(key);
    } else if (colon && inList(open) && (listedAt === 0 || listedAt === open.length)) {
      listedAt = open.length;
      start.listed.push(key);
    }
  }
  return start;
}

function nest(open: string[], bracket: string): void {
  if (bracket === '{' || bracket === '[') open.push(bracket);
  else open.pop();
}

/** Whether the innermost object is one of a list. */
function inList(open: readonly string[]): boolean {
  return open.at(-1) === '{' && open.at(-2) === '[';
}
