import type { FieldIndex } from './field-names.ts';

const TOKEN = /"((?:[^"\\]|\\.)*)"(\s*:)?|[[\]{}]/g;

/**
 * Whether all keys of the outermost object, or of the first one in a list, are names or labels of fields. `undefined`:
 * more has to be seen.
 * @param complete whether `text` is the whole file
 */
export function provesJson(text: string, complete: boolean, index: FieldIndex): boolean | undefined {
  if (/^\s*\[\s*\]\s*$/.test(text)) return true;
  const { outer, listed } = firstKeys(text);
  if ([outer, listed].some((keys) => keys.length > 0 && keys.every(index.isListed))) return true;
  // A list may still follow.
  return listed.length > 0 || complete ? false : undefined;
}

/** Keys of the outermost object (a record of JSON Lines), and of the first object in a list. */
function firstKeys(text: string): { outer: string[]; listed: string[] } {
  const [outer, listed]: [string[], string[]] = [[], []];
  const open: string[] = [];
  let listedAt = 0;
  for (const [token, key, colon] of text.matchAll(TOKEN)) {
    if (key === undefined) {
      if ('{['.includes(token)) open.push(token);
      else open.pop();
      // The first record has ended, or the outermost object has.
      if (open.length < listedAt || open.length === 0) break;
    } else if (colon && open.join('') === '{') {
      outer.push(key);
    } else if (colon && open.at(-1) === '{' && open.at(-2) === '[' && (listedAt === 0 || listedAt === open.length)) {
      listedAt = open.length;
      listed.push(key);
    }
  }
  return { outer, listed };
}
