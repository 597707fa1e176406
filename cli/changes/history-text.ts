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

/** The versions of a record for a person. @param width of the terminal, or infinite */
export function historyText({ entity, key, versions, ...known }: History, width: number): string[] {
  const names = Object.keys(key);
  return [
    `${entity}, ${keyText(Object.entries(key))}: ${manyText(versions.length, 'version')}`,
    ...versions.flatMap((version) => versionText(version, names, width)),
    `Known from ${known.knownFrom} to ${known.knownTo}, by ${manyText(known.feeds, 'feed')}.`,
  ];
}

function versionText(version: Version, names: string[], width: number): string[] {
  const { validFrom, validTo, began, ended, changed, row } = version;
  const dates = `${validFrom ?? 'until'}${validTo === null ? ' on' : validFrom === null ? ` ${validTo}` : ` to ${validTo}`}`;
  const heading = `${INDENT}${dates}  ${BEGAN[began]}`;
  const end = ended && ENDED[ended];
  const what =
    changed.length > 0
      ? [`${heading}${updateText(changed, width - heading.length, width)}`]
      : [heading, `${INDENT}${INDENT}${rowText(row, names, width - 2 * INDENT.length)}`];
  return [...what, ...(end ? [`${INDENT}${validTo}  ${end}`] : [])];
}
