import { manyText } from '../support/text.ts';
import { keyText, rowText, updateText } from './change-text.ts';
import type { History, Version } from './documents.ts';

const BEGAN: Record<Version['began'], string> = {
  insert: 'inserted',
  update: 'updated',
  snapshot: 'in a feed of all rows',
  before: 'as it was before the first feed that is known',
};
const ENDED: Record<NonNullable<Version['ended']>, string | null> = {
  update: null,
  delete: 'deleted',
  snapshot: 'gone: a feed of all rows lacks it',
};
const INDENT = '  ';
const WIDEST_DATES = '2026-11-20 to 2026-11-21'.length;

/** The versions of a record for a person. @param width of the terminal, or infinite */
export function historyText(history: History, width: number): string[] {
  const { entity, key, versions, firstFeed, lastFeed, knownFrom, knownTo } = history;
  const earlier = firstFeed === 1 ? '' : '; earlier ones are gone, or had another key';
  return [
    `${entity}, ${keyText(Object.entries(key))}: ${manyText(versions.length, 'version')}`,
    ...versions.flatMap((version) => versionText(version, Object.keys(key), width)),
    `Known from ${knownFrom} to ${knownTo}, by the feeds ${firstFeed} to ${lastFeed}${earlier}.`,
  ];
}

function versionText(version: Version, names: string[], width: number): string[] {
  const { validFrom, validTo, began, ended, changed, row } = version;
  const heading = `${INDENT}${datesText(validFrom, validTo).padEnd(WIDEST_DATES)}${INDENT}${BEGAN[began]}`;
  const end = ended && ENDED[ended];
  const what =
    changed.length > 0
      ? [`${heading}${updateText(changed, width - heading.length, width)}`]
      : [heading, `${INDENT}${INDENT}${rowText(row, names, width - 2 * INDENT.length)}`];
  return [...what, ...(end ? [`${INDENT}${String(validTo).padEnd(WIDEST_DATES)}${INDENT}${end}`] : [])];
}

function datesText(from: string | null, to: string | null): string {
  if (to === null) return `${from} on`;
  return from === null ? `until ${to}` : `${from} to ${to}`;
}
