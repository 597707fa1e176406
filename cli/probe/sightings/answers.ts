import { retryAfterSeconds } from '../../../transfer/base/retry-after.ts';
import { assumed, each, mainOf, needsCode, needsSetting, notSeen, type Observer, tolerated } from './sighting.ts';

/** What the CRM answers around an export. */

export const exportIdField: Observer = ({ exports, exchanges }) => {
  const made = exchanges.filter(({ step, status }) => step === 'create' && status !== null && status < 300);
  if (made.length === 0) return notSeen('No request for an export was answered with success.');
  const ids = exports.flatMap(({ id }) => id ?? []);
  if (ids.length === 0) return needsCode(`No id was found in the answer: ${made[0]?.shape}.`);
  const unread = ids.find(({ read }) => !read);
  if (unread) return needsCode(`The id is a ${unread.kind} in ${unread.at}, where no run looks.`);
  const places = each(ids.map(({ at }) => at));
  return places === 'id' ? assumed('It is in id.') : tolerated(`It is in ${places}.`);
};

export const exportIds: Observer = ({ exports }) => {
  const made = exports.filter(({ id }) => id !== null);
  if (made.length < 2) return notSeen('One export was made; --filter and --early make another.');
  if (made.some(({ idAgain }) => idAgain)) return needsCode('A second export has the id of the first.');
  return assumed(`${made.length} exports have ${made.length} ids.`);
};

export const fieldsShape: Observer = ({ fields }) => {
  if (fields.length === 0) return notSeen('No list of fields was answered.');
  const unread = fields.find(({ read }) => !read);
  const keys = (one: (typeof fields)[number]) => `names in ${one.nameKey ?? 'no known key'}`;
  if (unread)
    return needsCode(
      `A run cannot read the fields of ${unread.entity}: ${unread.listAt ?? 'no list'}, ${keys(unread)}.`,
    );
  const labels = each(fields.map(({ labelKey }) => labelKey)) || 'none';
  const types = each(fields.map(({ typeKey }) => typeKey)) || 'none';
  const told = `${fields.length} lists; labels in ${labels}, types in ${types}`;
  const wrappers = each(fields.map(({ listAt }) => (listAt === 'list' ? null : listAt)));
  return wrappers === ''
    ? assumed(`An array with fieldName (${told}).`)
    : tolerated(`The list is in ${wrappers} (${told}).`);
};

export const statusRecord: Observer = ({ exports, exchanges }) => {
  const statuses = exports.flatMap((one) => one.statuses);
  if (statuses.length === 0) return notSeen('No status was read.');
  const shape = exchanges.find(({ step, status }) => step === 'status' && status === 200)?.shape;
  if (statuses.some(({ ofOther }) => ofOther)) return needsCode('The record has another id than the export.');
  const unread = statuses.find(({ read }) => !read);
  if (unread?.at) return needsCode(`The status is in ${unread.at}, where no run looks.`);
  if (unread) return needsCode(`There is no status: ${shape}.`);
  const places = each(statuses.map(({ at }) => at));
  return places === 'status'
    ? assumed(`The record stands by itself: ${shape}.`)
    : tolerated(`The status is in ${places}.`);
};

export const statusWords: Observer = ({ exports }) => {
  const statuses = exports.flatMap((one) => one.statuses).filter(({ at }) => at !== null);
  if (statuses.length === 0) return notSeen('No word was read.');
  const unknown = statuses.filter(({ known }) => !known).map(({ word }) => word ?? 'a word that is not plain');
  if (unknown.length > 0) return needsCode(`Another word than the four: ${each(unknown)}.`);
  const first = (word: string | null) => statuses.find((one) => one.word === word)?.seconds;
  const words = [...new Set(statuses.map(({ word }) => word))];
  return assumed(`${words.map((word) => `${word} after ${first(word)} s`).join(', ')}.`);
};

export const earlyDownload: Observer = ({ exports, exchanges }) => {
  const early = exports.find(({ purpose }) => purpose === 'early')?.early;
  if (!early) return notSeen('Only --early asks for a file before it is there.');
  const { status, hasLink, before } = early;
  const late = exchanges.find(({ step, purpose }) => step === 'link' && purpose === 'main')?.status;
  if (late === status && status >= 400) return notSeen(`It was answered ${status}, as for an export that is there.`);
  if (status >= 400 && status < 500 && ![401, 403, 429].includes(status)) return assumed(`It was answered ${status}.`);
  if (status >= 300) return notSeen(`It was answered ${status}, which says nothing of it.`);
  if (before !== true) return notSeen('The export was PROCESSED before the file was asked for.');
  return needsCode(
    `It was answered ${status}${hasLink ? ' with an address' : ''}, though the export was not PROCESSED.`,
  );
};

export const errorBodies: Observer = ({ exchanges }) => {
  const absent = exchanges.find(({ step }) => step === 'absent');
  if (absent?.status && absent.status < 300) {
    return needsCode(`An export that cannot exist was answered ${absent.status}, not an error: ${absent.shape}.`);
  }
  const refused = exchanges.filter(({ status }) => status !== null && status >= 400);
  if (refused.length === 0) return notSeen('Nothing was refused.');
  const kinds = refused.map(({ status, mediaType, shape, code }) => {
    return `${status}${mediaType ? ` ${mediaType}` : ''}, ${shape}${code ? `, code ${code}` : ''}`;
  });
  return assumed(`${each(kinds).slice(0, 300)}.`);
};

export const rateLimits: Observer = ({ exchanges }) => {
  const limited = exchanges.find(({ status }) => status === 429);
  const named = exchanges.flatMap(({ headers }) => Object.entries(headers).filter(([name]) => name.includes('limit')));
  const told = each(named.map(([name]) => name));
  const headers = told ? ` Headers: ${[...new Map(named)].map(([name, value]) => `${name} ${value}`).join(', ')}.` : '';
  if (limited) {
    const { 'retry-after': wait } = limited.headers;
    const isNamed = limited.headerNames.includes('retry-after');
    if (isNamed && retryAfterSeconds(wait) === undefined)
      return needsCode(`429 with a Retry-After that cannot be read.${headers}`);
    return assumed(`429 ${wait ? `with Retry-After ${wait}` : 'without Retry-After'}.${headers}`);
  }
  const other = exchanges.find(({ status, headers: all }) => status !== null && status >= 400 && isUsedUp(all));
  if (other)
    return needsCode(`${other.call} was answered ${other.status}, not 429, with nothing left of the limit.${headers}`);
  return notSeen(`No call was answered 429.${headers}`);
};

function isUsedUp(headers: Record<string, string>): boolean {
  return Object.entries(headers).some(([name, value]) => name.endsWith('remaining') && value.trim() === '0');
}

export const agentNumbersAddress: Observer = ({ exchanges }) => {
  const lists = exchanges.filter(({ step }) => step === 'fields');
  const own = lists.find(({ entity }) => entity === 'agent-numbers');
  if (!own || own.status === null) return notSeen('Its fields were not answered.');
  if (own.status < 300) return assumed('Its fields are answered there.');
  const others = lists.some(({ status }) => status !== null && status < 300);
  if (own.status === 404 && others)
    return needsCode('Its fields are answered 404 there, those of other entities are not.');
  return notSeen(`Its fields were answered ${own.status}.`);
};

export const updateAnswer: Observer = ({ update }) => {
  if (!update) return notSeen('Only --customer sends a change.');
  const { status, shape, isObject } = update;
  if (status === null) return notSeen('The change got no answer: it may have been made.');
  if (status >= 400) return notSeen(`The change was answered ${status}: ${shape}.`);
  return status === 200 && isObject
    ? assumed(`200: ${shape}.`)
    : needsCode(`The change was answered ${status}: ${shape}.`);
};

export const filterDefinition: Observer = (conversation) => {
  const asked = conversation.exchanges.find(({ step, purpose }) => step === 'create' && purpose === 'filter');
  const filtered = conversation.exports.find(({ purpose }) => purpose === 'filter');
  if (!asked || !filtered) return notSeen('Only --filter tries one.');
  if (asked.status !== null && asked.status >= 400 && asked.status < 500 && ![401, 403, 429].includes(asked.status)) {
    const refused = `The filter was refused with ${asked.status}${asked.code ? `, code ${asked.code}` : ''}`;
    return conversation.otherFilter ? notSeen(`${refused}, and had another shape.`) : needsSetting(`${refused}.`);
  }
  const [all, some] = [mainOf(conversation)?.file, filtered.file];
  if (!all?.whole || !some?.whole || all.trouble || some.trouble) return notSeen('The two files cannot be compared.');
  const size = (file: typeof all) => (file.rows === null ? `${file.bytes} bytes` : `${file.rows} rows`);
  const told = `${size(some)} of ${size(all)}`;
  const isLess = all.rows !== null && some.rows !== null ? some.rows < all.rows : some.bytes < all.bytes;
  if (isLess && conversation.otherFilter)
    return tolerated(`A filter of another shape makes the file smaller: ${told}.`);
  return isLess
    ? assumed(`The filter is taken, and the file is smaller: ${told}.`)
    : notSeen(`The filter is taken, and the file is no smaller: ${told}.`);
};
