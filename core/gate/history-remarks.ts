import { type Facts, rowsOf } from './facts.ts';
import { endingBefore, releasedEndings, type Subject } from './subject.ts';

/** What a comparison with published files shows though it stops nothing, in sentences. */
export function historyRemarks(subject: Subject): string[] {
  const { facts, history, exportId } = subject;
  const { comparedWith, unreadable, earlier, ofDate } = history;
  const remarks: [holds: boolean, remark: string][] = [
    [
      unreadable > 0,
      `Of ${unreadable} published exports pointer or manifest is gone or unreadable: the file is not compared with them.`,
    ],
    [earlier > 0, `${earlier} published exports are of an earlier release: the file is not compared with them.`],
    [ofDate?.exportId === exportId && !subject.adopted, SAME_EXPORT],
    [
      isCapped(subject),
      'It has exactly as many rows as the last published file, a round number or a known limit: rows may be missing.',
    ],
    [
      endsAsReleased(subject),
      'It ends as a file that a person has released: with a record of another width, or without a line break.',
    ],
  ];
  return [
    ...remarks.flatMap(([holds, remark]) => (holds ? [remark] : [])),
    ...changesOfForm(facts, comparedWith[0]?.facts),
  ];
}

const SAME_EXPORT = 'The CRM has given the export that its date has already, by its id.';

/** Fewer rows may be as many every night. */
const FEWEST_CAPPED = 1000;
const KNOWN_LIMITS = [65_535, 65_536, 1_048_575, 1_048_576];

/** The CRM may have stopped at a limit. */
function isCapped({ facts, history: { comparedWith } }: Subject): boolean {
  const rows = rowsOf(facts) ?? 0;
  const before = comparedWith[0] && rowsOf(comparedWith[0].facts);
  // Exports may count their header, too.
  const isLimit = KNOWN_LIMITS.includes(rows) || rows % 1000 === 0 || (rows + 1) % 1000 === 0;
  return rows >= FEWEST_CAPPED - 1 && rows === before && isLimit;
}

function endsAsReleased(subject: Subject): boolean {
  const { content, format } = subject.facts;
  const { releasedBefore } = subject.history;
  const { ending = null, width = null } = content ?? {};
  if (!ending) return false;
  const sameWidth = releasedEndings(releasedBefore, subject.facts).filter(({ cells }) => cells === ending.cells);
  const sameEnd = sameWidth.some(({ lineBreak }) => lineBreak === ending.lineBreak);
  const cutOff = !ending.lineBreak && endingBefore(subject)?.lineBreak === true;
  // A file that is stopped for its end has nothing released that it could be compared with.
  if (sameWidth.length === 0 || (cutOff && !sameEnd)) return false;
  return cutOff || (format !== 'xlsx' && width !== null && ending.cells !== width);
}

/** How the file is written otherwise than the last published one, where both are known. */
function changesOfForm(now: Facts, before: Facts | undefined): string[] {
  if (!before || before.empty || now.empty) return [];
  const known = (value: string | null | undefined) => value ?? undefined;
  const bothText = now.format === 'csv' && before.format === 'csv';
  // Any encoding would do for a file of ASCII.
  const encoded = bothText && now.content?.ascii === false && before.content?.ascii === false;
  const parts: [what: string, now: string | undefined, before: string | undefined][] = [
    ['format', known(now.format), known(before.format)],
    ['compression', now.compression ?? 'none', before.compression ?? 'none'],
    ['encoding', encoded ? known(now.dialect?.encoding) : undefined, known(before.dialect?.encoding)],
    ['separator', known(now.dialect?.separator), known(before.dialect?.separator)],
  ];
  return parts.flatMap(([what, is, was]) =>
    is === undefined || was === undefined || is === was
      ? []
      : [`The ${what} of the file is another than that of the last published one: ${named(is)}, it was ${named(was)}.`],
  );
}

const NAMES: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };
const named = (word: string) => NAMES[word] ?? word;
