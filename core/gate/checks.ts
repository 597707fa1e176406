import { countText, numberText } from '../count-text.ts';
import { type Content, type Ending, type Facts, isEmptyFile, mayName } from './facts.ts';
import { type GateCheckResult, type GateReport, usualText } from './report.ts';
import { columnChanges, columnsOf, rowsThatCount, type Subject, usualRows } from './subject.ts';

/** The measurement of a check: `null` = not known. Exactly one of the bounds is set. */
interface Measure {
  measured: number | null;
  atLeast?: number;
  atMost?: number;
  detail?: string | null;
}

/** What the message of a failed check may contain besides its measurement and bound. */
interface SentenceFacts extends Pick<GateReport, 'medianRows'> {
  /** The rows of the file in words: `3 rows`, or `rows that cannot be counted`. */
  rows: string;
}

export interface GateCheck {
  id: string;
  /** The limit of the check: a setting with its default, or a rule that needs no setting. */
  setting: string;
  /** The words after "stops a file" in docs/reading.md. */
  stops: string;
  /** The file fails the check if its measurement is unknown. */
  promised?: true;
  /** No person can release a file that fails this check. The check also runs on files that readers do not get. */
  final?: true;
  /** The kind of a file: after a release despite this check, files of its kind pass. '' = every file, `null` = no file. */
  kindOf?: (facts: Pick<Facts, 'format' | 'content'>) => string | null;
  /** A warning for a file that passes because a file of its kind was released. */
  warning?: string;
  /** `undefined`: the check does not apply to the file. */
  measure: (subject: Subject) => Measure | null | undefined;
  /** The failure, as the rest of a sentence that begins with "it". */
  words: (failed: GateCheckResult, about: SentenceFacts) => string;
}

/** Below this median a file is not checked for shrinking, and growth is measured from this number instead. */
const LEAST_USUAL_ROWS = 20;

/** A longer run of NUL characters is a block of the disk that was never written. */
const LONGEST_NUL_RUN = 7;

/** A release of a file that this check stopped also confirms that its header names the requested columns. */
export const UNKNOWN_HEADER = 'unknownHeader';

/** All checks that a file must pass before readers get it, in the order of the report. */
export const CHECKS: GateCheck[] = [
  {
    id: 'empty',
    setting: 'until an empty file is released',
    stops: 'of 0 bytes or blanks, packed or not',
    kindOf: () => '',
    measure: ({ facts }) => ({ measured: isEmptyFile(facts) ? 0 : facts.bytes, atLeast: 1 }),
    words: () => 'is empty',
  },
  {
    id: 'noRows',
    setting: 'where the median of the compared files has rows',
    stops: 'without rows',
    measure: ({ facts, history }) => (usualRows(history) ? { measured: rowsThatCount(facts), atLeast: 1 } : undefined),
    words: (_, { medianRows }) => `has no rows, ${usualText(medianRows)}`,
  },
  {
    id: 'counted',
    setting: 'where a compared file was counted',
    stops: 'whose rows cannot be counted',
    promised: true,
    measure: ({ facts, history }) =>
      history.comparedWith.some(({ file }) => rowsThatCount(file) !== null)
        ? { measured: rowsThatCount(facts) === null ? null : 1, atLeast: 1 }
        : undefined,
    words: (_, { medianRows }) => `has rows that cannot be counted, ${usualText(medianRows)}`,
  },
  {
    id: 'minRows',
    setting: 'guards.minRows (none)',
    stops: 'with fewer rows, or whose rows cannot be counted; files of another plan are not checked',
    promised: true,
    measure: ({ run, facts, settings: { guards } }) =>
      run.kind === 'partial' || guards.minRows === undefined
        ? undefined
        : { measured: rowsThatCount(facts), atLeast: guards.minRows },
    words: ({ bound }, { rows }) => `has ${rows} (minRows ${bound})`,
  },
  {
    id: 'maxShrink',
    setting: 'guards.maxShrink (0.5)',
    stops: 'that lacks more than this share of the median number of rows, if that is at least 20',
    measure: ({ facts, history, settings: { guards } }) => {
      const usual = usualRows(history) ?? 0;
      const rows = rowsThatCount(facts);
      const measured = rows === null ? null : Math.max(0, 1 - rows / usual);
      return usual < LEAST_USUAL_ROWS ? undefined : { measured, atMost: guards.maxShrink };
    },
    words: ({ bound }, { rows, medianRows }) => `has ${rows}, ${usualText(medianRows)} (maxShrink ${bound})`,
  },
  {
    id: 'maxGrowth',
    setting: 'guards.maxGrowth (10)',
    stops: 'with more than this many times the median number of rows, counted as at least 20',
    measure: ({ facts, history, settings: { guards } }) => {
      const usual = usualRows(history);
      const rows = rowsThatCount(facts);
      const measured = rows === null ? null : rows / Math.max(usual ?? 0, LEAST_USUAL_ROWS);
      return usual === null ? undefined : { measured, atMost: guards.maxGrowth };
    },
    words: ({ bound }, { rows, medianRows }) => `has ${rows}, ${usualText(medianRows)} (maxGrowth ${bound})`,
  },
  {
    id: 'maxIrregularShare',
    setting: 'guards.maxIrregularShare (0.01)',
    stops: 'with a larger share of records that are wider or narrower than the first',
    measure: ({ facts: { content }, settings: { guards } }) => ({
      measured: content && content.irregular / Math.max(1, content.records),
      atMost: guards.maxIrregularShare,
    }),
    words: ({ measured, bound }) =>
      `has ${numberText(100 * (measured ?? 0))} % of records with more or fewer fields than the first (maxIrregularShare ${bound})`,
  },
  {
    id: 'lastRecord',
    setting: 'guards.maxIrregularShare below 1, until a file that ends like this is released',
    stops:
      'whose last record has another width than the first, or, in a sheet, far fewer values: it was cut off, or ends with an error text',
    kindOf: endingKind,
    measure: ({ facts: { content, format }, settings: { guards } }) => {
      const { ending = null, width = null } = content ?? {};
      if (!ending || width === null || guards.maxIrregularShare === 1) return undefined;
      // A sheet does not store the empty cells at the end of a row.
      const thin = content?.endsThin ? 1 : 0;
      const differs = format === 'xlsx' ? Math.max(thin, ending.cells - width) : Math.abs(ending.cells - width);
      return { measured: differs, atMost: 0 };
    },
    words: () => 'ends with a record of another width than the first: it may be cut off, or end with an error',
  },
  {
    id: 'lastLineBreak',
    setting: 'where the last published file ends with a line break',
    stops: 'that ends without a line break',
    kindOf: endingKind,
    warning: 'The file ends without a line break, like one that a person has released: it may be cut off.',
    measure: (subject) => {
      const { ending = null } = subject.facts.content ?? {};
      if (!ending || !endingBefore(subject)?.lineBreak) return undefined;
      return { measured: ending.lineBreak ? 1 : 0, atLeast: 1 };
    },
    words: () => 'ends without the line break that the last published file ends with: it may be cut off',
  },
  {
    id: 'required',
    setting: 'columns.required (none)',
    stops: 'whose header lacks one of these columns, or that has no header and another width',
    promised: true,
    measure: (subject) => {
      const required = subject.settings.columns.required;
      if (required.length === 0 || isEmptyFile(subject.facts)) return undefined;
      const named = shownColumns(subject);
      return { measured: named && required.filter((name) => !named.includes(name)).length, atMost: 0 };
    },
    words: ({ measured }) =>
      measured === null
        ? 'has no header that shows its required columns (columns.required)'
        : `lacks ${columnsText(measured)} of columns.required`,
  },
  {
    id: 'header',
    setting: 'drift.added or drift.removed is stop (warn)',
    stops: 'whose header lacks a requested column (`removed`), has additional ones (`added`), or is unknown',
    promised: true,
    measure: ({ facts, settings: { drift }, run: { request } }) => {
      const stopping = (['added', 'removed'] as const).filter((kind) => drift[kind] === 'stop');
      if (stopping.length === 0 || isEmptyFile(facts)) return undefined;
      const changes = columnChanges(facts, request.columns);
      return { measured: changes && stopping.reduce((sum, kind) => sum + changes[kind], 0), atMost: 0 };
    },
    words: ({ measured }) =>
      measured === null
        ? 'does not show whether it has the requested columns (drift)'
        : `has ${columnsText(measured)} more or fewer than were requested (drift)`,
  },
  {
    id: UNKNOWN_HEADER,
    setting:
      'until a file with this first record is released, unless columns are in another order; not with columns.header none, nor with columns.except',
    stops: 'whose first record does not name all columns as the CRM lists them',
    kindOf: ({ content }) => (content?.moved === 0 ? content.firstRecord : null),
    measure: ({ facts: { header, content }, settings, run: { excepted, request } }) => {
      if (!content || settings.columns.header === 'none' || excepted.length > 0) return undefined;
      if (header) return { measured: 0, atMost: 0 };
      if (content.headed === false) return { measured: 2, atMost: 0 };
      return { measured: 1, atMost: 0, detail: mayName(content, request.columns) ? null : unlistedColumns(content) };
    },
    words: ({ measured, detail }) => {
      if (measured === 2) return 'seems to have no header (if no file has one, set columns.header to "none")';
      if (detail)
        return `has a header with a text that the CRM does not list (${detail}): name the text in columns.labels`;
      const remedy = detail === null ? 'release the file once' : 'name its texts in columns.labels';
      return `has a first line that does not name all columns as the CRM lists them. If it is the header, ${remedy}`;
    },
  },
  {
    id: 'repeatedHeader',
    setting: 'until a file that repeats its header is released',
    stops: 'that repeats its header: it may hold the file twice, or several pages',
    kindOf: () => '',
    measure: ({ facts: { content } }) => content && { measured: content.repeatedHeaders, atMost: 0 },
    words: ({ measured }) => `repeats its header in ${countText(measured ?? 0, 'record')} further down`,
  },
  {
    id: 'otherHeader',
    setting: 'until a file with other headers further down is released',
    stops: 'with another header further down: other columns, or another order',
    kindOf: () => '',
    measure: ({ facts: { content } }) => content && { measured: content.otherHeaders, atMost: 0 },
    words: ({ measured }) =>
      `has ${countText(measured ?? 0, 'header')} further down with other columns or another order`,
  },
  {
    id: 'nulBlock',
    setting: 'always',
    stops: `with ${LONGEST_NUL_RUN + 1} or more NUL characters in a row: it may be damaged`,
    measure: ({ facts: { content } }) => content && { measured: content.nulRun, atMost: LONGEST_NUL_RUN },
    words: ({ measured }) => `has ${countText(measured ?? 0, 'NUL character')} in a row: a part of it may be damaged`,
  },
  {
    id: 'exportId',
    setting: 'always',
    stops: 'with the export id of a compared file of another date: the CRM served an old export again',
    measure: ({ run: { date, exportId }, history: { comparedWith } }) => ({
      measured: comparedWith.filter(({ run }) => run.date !== date && run.exportId === exportId).length,
      atMost: 0,
    }),
    words: () => 'has the export id of another date: the CRM served an old export again',
  },
  {
    id: 'sheets',
    setting: 'always',
    stops: 'that is a spreadsheet with a header in several visible sheets',
    measure: ({ facts: { content, format } }) =>
      format === 'xlsx' && content ? { measured: content.sheets, atMost: 1 } : undefined,
    words: ({ measured }) => `has ${measured} sheets with a header, but readers would get only one of them`,
  },
  {
    id: 'fullSheet',
    setting: 'always',
    stops: 'that is a spreadsheet whose last possible row has a value: further rows may be missing',
    measure: ({ facts: { content, format } }) =>
      format === 'xlsx' && content ? { measured: content.fullSheet ? 1 : 0, atMost: 0 } : undefined,
    words: () => 'fills the last row that a sheet can have: further rows may be missing',
  },
  {
    id: 'excepted',
    setting: 'columns.except (none)',
    stops:
      'with a header cell that is not a listed column, or with values elsewhere: a row longer than the header, a column without a name, a later header with a left-out column, another sheet, a formula, a comment or any other text of a workbook',
    promised: true,
    final: true,
    measure: ({ facts, run: { excepted } }) => {
      const found = excepted.length > 0 ? exceptedPlaces(facts) : undefined;
      return found && { ...found, atMost: 0 };
    },
    words: ({ detail }) => `${detail ?? 'may have columns that must not be there'} (columns.except)`,
  },
];

const columnsText = (count: number) => countText(count, 'column');

/** How the last published file that is not empty ends. `null` unless it is CSV: spreadsheets have no line breaks. */
function endingBefore({ history: { comparedWith } }: Subject): Ending | null {
  const before = comparedWith.find(({ file }) => !isEmptyFile(file))?.file;
  return before?.format === 'csv' ? (before.content?.ending ?? null) : null;
}

/** Two files end alike if their formats, their widths and the widths of their last records are equal. */
function endingKind({ format, content }: Pick<Facts, 'format' | 'content'>): string {
  return `${format} ${content?.width} ${content?.ending?.cells}`;
}

/** The columns of a file by its header or, without one, by its width; `null` if they are not known. */
function shownColumns({ facts, settings, run: { request } }: Subject): readonly string[] | null {
  const isAsWide = settings.columns.header === 'none' && facts.content?.width === request.columns.length;
  return isAsWide ? request.columns : columnsOf(facts);
}

/** The most columns that a message names. */
const MOST_NAMED = 5;

/**
 * Counts the places at which a file has, or may have, a left-out column. Each cell of its header must name a listed
 * field that is not left out, and the file must hold no other text. `undefined` if the file is empty.
 */
export function exceptedPlaces({ format, header, content }: Pick<Facts, 'format' | 'header' | 'content'>) {
  if (isEmptyFile({ format })) return undefined;
  const { headed = null, excepted = null, unlisted = null } = content ?? {};
  if (!content || excepted === null || unlisted === null || headed !== true)
    return unknownPlaces(unknownBecause(headed, content));
  const { unnamed, longer, elsewhere, elsewhereKinds, leftOutHeaders } = content;
  const columns = unlistedColumns(content);
  const add = columns && ` (${columns}; if this column is not left out, add its text to columns.labels)`;
  const kinds = elsewhereKinds.length > 0 ? ` (${elsewhereKinds.join(', ')})` : '';
  const more = format === 'xlsx' ? '' : 'that other programs may read as more cells, or ';
  const parts: [count: number, text: string][] = [
    [excepted, `${countText(excepted, 'column')} that must not be there`],
    [unlisted, `${countText(unlisted, 'text')} in its header that the CRM does not list${add}`],
    [unnamed, `${countText(unnamed, 'column')} with values and without a name`],
    [repeated(header), `${countText(repeated(header), 'column')} with the name of another column`],
    [leftOutHeaders, `${countText(leftOutHeaders, 'header')} further down with a column that must not be there`],
    [longer, `${countText(longer, 'record')} longer than its header`],
    [elsewhere, `${countText(elsewhere, 'place')} ${more}that may hold text besides its rows${kinds}`],
  ];
  const found = parts.filter(([count]) => count > 0);
  const measured = found.reduce((sum, [count]) => sum + count, 0);
  // If several fields have a label, the column that it names is not known.
  if (measured === 0 && header === null) return unknownPlaces('a text of its header is the label of several columns');
  return { measured, detail: measured === 0 ? null : `has ${found.map(([, text]) => text).join(', ')}` };
}

const unknownPlaces = (why: string) => {
  return { measured: null, detail: `may have columns that must not be there: ${why}` };
};

/** The first columns of a header that have an unlisted text, in words; '' without one. */
function unlistedColumns({ unlistedPlaces }: Pick<Content, 'unlistedPlaces'>): string {
  const places = unlistedPlaces.slice(0, MOST_NAMED).join(', ');
  return places && `column ${places} of the header`;
}

/** Counts columns whose name is repeated: two columns with one name cannot be told apart. */
function repeated(header: Facts['header']): number {
  const named = columnsOf({ header }) ?? [];
  return named.length - new Set(named).size;
}

function unknownBecause(headed: boolean | null, content: Facts['content']): string {
  if (!content) return 'its content was not read';
  if (headed === false) return 'it seems to have no header';
  return 'its first line does not name all columns as the CRM lists them. If it is the header, name its texts in columns.labels';
}
