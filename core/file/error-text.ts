import { countText } from '../count-text.ts';
import { isFilled } from '../folded.ts';
import { windows1255 } from './encoding.ts';

/** Recognises the text of an error where a file should have a row. */

const QUOTE = 0x22;

/** The first four bytes of error messages, in UTF-8. */
const BEGINNINGS = [
  ...['erro', 'fata', 'exce', 'trac', 'caus', 'java', 'inte', 'serv', 'time', 'warn', 'ora-', 'sqls', 'stac', 'at c'],
  ...['at o', 'at j', '    ', '\tat ', 'requ', 'conn', 'gate', 'bad ', 'coul', 'unab', 'resu', 'trun', 'limi', 'abor'],
  ...['fail', 'quer', 'oper', 'sorr', '<htm', '<!do', '<?xm', '<err', '{"er', '{"me', '{"st', '--- ', '  fi', '*** '],
  ...['proc', 'sess', 'toke', 'unau', 'forb', 'too ', 'expo', 'job ', 'acce', 'perm', 'an e', 'an u', 'unex', 'unha'],
  ...['unca', 'syst', 'upst', 'dead', 'mysq', 'cann', '500 ', '502 ', '503 ', '504 ', 'שג', 'אי'],
];
const HEBREW_ERRORS = ['שגיא', 'אירע'].map(windows1255);
const FIRST_FOUR = new Set(
  [...BEGINNINGS.map((text) => Buffer.from(text)), ...HEBREW_ERRORS].map((bytes) => firstFour(bytes)),
);
/** Whether two bytes begin an entry of `FIRST_FOUR`. */
const FIRST_TWO = new Uint8Array(1 << 16);
const firstTwo = new Set([...FIRST_FOUR].map((letters) => letters & 0xffff));
for (let bytes = 0; bytes < FIRST_TWO.length; bytes += 1) {
  if (firstTwo.has(inLowerCase(bytes) & 0xffff)) FIRST_TWO[bytes] = 1;
}

const ERROR_TEXT =
  /\b(?:errors?|exception|traceback|tim(?:ed |e-?)out|truncated|exceeded|aborted|fatal|unavailable|bad gateway|stack ?trace|connection (?:reset|refused|closed|lost)|access denied|too many requests|unable to|could not|cannot connect to|deadlock (?:detected|found)|server has gone away|failed to|went wrong|ORA-\d+)\b|שגיא[הת]|\w(?:Error|Exception)\b|^\s+at [\w.$<>]+[ (]|^\s+File "|\w\.[\w$]+\.[\w$]+\([\w.]*:\d+\)|^\s*<(?:!doctype|html|\?xml)/i;
/** Words of error messages that are also statuses of records, such as policies. They count only in a row without other cells. */
const STATUS_TEXT = /\b(?:denied|expired|failed|forbidden|unauthori[sz]ed)\b|נכשל|פג תוקף/i;

/** Number of bytes of a record that are searched for an error message. */
export const ERROR_TEXT_BYTES = 512;

function isErrorText(cell: string): boolean {
  return ERROR_TEXT.test(cell.slice(0, ERROR_TEXT_BYTES));
}

/** Whether the first of these cells is the text of an error. */
export function startsWithError([first = '', ...others]: readonly string[]): boolean {
  return isErrorText(first) || (STATUS_TEXT.test(first.slice(0, ERROR_TEXT_BYTES)) && !others.some(isFilled));
}

/** Whether a record may begin with the text of an error. @param block at least five bytes after `from` */
export function mayBeginError(block: Buffer, from: number): boolean {
  const at = block[from] === QUOTE ? from + 1 : from;
  const two = (block[at] as number) | ((block[at + 1] as number) << 8);
  return FIRST_TWO[two] === 1 && FIRST_FOUR.has(firstFour(block, at));
}

/** Whether a row of a sheet begins with the text of an error. */
export function isSheetError(texts: readonly string[]): boolean {
  const begin = (texts[0] ?? '').replace(/^"/, '').slice(0, 4).toLowerCase();
  return BEGINNINGS.some((beginning) => begin.startsWith(beginning)) && startsWithError(texts);
}

/** Whether a last row may be the text of an error. */
export function isErrorRow(texts: readonly string[]): boolean {
  const filled = texts.filter(isFilled);
  return startsWithError(texts) || filled.filter(isErrorText).length * 2 > filled.length;
}

/** If more rows look like an error message, they are ordinary data. */
const MOST_ERRORS = 3;

/** @param errors rows that begin with the text of an error */
export function errorWarnings(errors: number, endsWithError: boolean): string[] {
  if (endsWithError) return ['The last row may be the text of an error.'];
  return errors > 0 && errors <= MOST_ERRORS ? [`${countText(errors, 'row')} may be the text of an error.`] : [];
}

/** The first four bytes as a number, in lower case. */
function firstFour(bytes: Buffer, at = 0): number {
  return inLowerCase(bytes.readUInt32LE(at));
}

function inLowerCase(letters: number): number {
  return letters | 0x20202020;
}
