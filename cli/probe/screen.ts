import { colorsFor, manyText, plainLine } from '../support/text.ts';
import { isObservable, OPEN_POINTS } from './open-points/open-points.ts';
import type { Sighting } from './sightings/sighting.ts';
import { VERDICTS } from './sightings/sighting.ts';

const ORDER: Sighting['verdict'][] = ['otherwise', 'as assumed', 'not seen', 'cannot be seen'];
const SIGNS = { otherwise: '✗', 'as assumed': '✓', 'not seen': '-', 'cannot be seen': '-' };
const WIDEST = Math.max(...OPEN_POINTS.map(({ id }) => id.length));

interface Screen {
  isTTY?: boolean;
  columns?: number;
}

/** The sightings for a person: a line for each, what is otherwise first, with what to do about it. */
export function linesOf(sightings: Sighting[], stream: Screen, all = false): string[] {
  const ordered = ORDER.flatMap((verdict) => sightings.filter((one) => one.verdict === verdict));
  const hidden = all ? [] : ordered.filter(({ verdict }) => verdict === 'cannot be seen');
  const shown = ordered.filter((one) => !hidden.includes(one));
  const counts = VERDICTS.flatMap((verdict) => countText(sightings, verdict));
  const unseen = `${manyText(hidden.length, 'point')} cannot be seen by any probe; --all says why.`;
  return [
    `${manyText(sightings.length, 'open point')}: ${counts.join(', ')}.`,
    ...shown.flatMap((one) => sightingLines(one, stream)),
    ...(hidden.length > 0 ? fitted(`- ${unseen}`, stream, 2) : []),
  ];
}

function countText(sightings: Sighting[], verdict: Sighting['verdict']): string[] {
  const count = sightings.filter((one) => one.verdict === verdict).length;
  return count === 0 ? [] : [`${count} ${verdict}`];
}

function sightingLines({ id, verdict, what, means }: Sighting, stream: Screen): string[] {
  const { red, yellow, green, dim } = colorsFor(stream);
  const paint = {
    otherwise: means === 'tolerated' ? yellow : red,
    'as assumed': green,
    'not seen': dim,
    'cannot be seen': dim,
  }[verdict];
  const sign = means === 'tolerated' ? '!' : SIGNS[verdict];
  const [first = '', ...rest] = fitted(
    `${sign} ${id.padEnd(WIDEST)}  ${verdict}: ${plainLine(what)}`,
    stream,
    WIDEST + 4,
  );
  const head = sign.length + 1 + id.length;
  const advice = adviceFor(id, means).flatMap((line) => fitted(`    -> ${line}`, stream, 7));
  return [`${paint(first.slice(0, head))}${first.slice(head)}`, ...rest, ...advice];
}

/** What to do about what is otherwise. */
function adviceFor(id: Sighting['id'], means: Sighting['means']): string[] {
  const row = OPEN_POINTS.find((one) => one.id === id);
  if (!means || !row || !isObservable(row)) return [];
  if (means === 'tolerated') return ['Runs take it all the same.'];
  const setting = 'setting' in row ? row.setting : undefined;
  if (means === 'setting' && setting) return [`The setting ${setting} expresses it (docs/configuration.md).`];
  return [`No setting expresses it: ${row.assumedIn} assumes "${row.point}" (docs/interface/open-points.md).`];
}

/** A line for a terminal, broken between words where it is too narrow; whole in a pipe. */
function fitted(text: string, { isTTY, columns }: Screen, indent: number): string[] {
  const width = isTTY && columns ? Math.max(columns, indent + 20) : Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const blank = rest.lastIndexOf(' ', width);
    const at = blank > indent ? blank : width;
    lines.push(rest.slice(0, at).trimEnd());
    rest = `${' '.repeat(indent)}${rest.slice(at).trimStart()}`;
  }
  return [...lines, rest];
}
